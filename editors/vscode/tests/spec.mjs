// What a user sees, in a real VS Code: node spec.mjs WORKSPACE FILE PICTURES
import fs from 'node:fs';
import path from 'node:path';
import { check, main, texts, until } from './rig.mjs';

const [workspace, file, pictures] = process.argv.slice(2);
const state = fs.mkdtempSync(path.join(workspace, '..', 'vscode-'));
fs.mkdirSync(pictures, { recursive: true });
const here = import.meta.dirname;

const options = {
  workspace,
  state,
  pictures,
  tools: process.env.UNSNARL_TEST_VSCODE,
  server: process.env.UNSNARL_TEST_SERVER,
  vsix: path.join(here, '../unsnarl.vsix'),
  theme: process.env.UNSNARL_TEST_THEME ?? 'Default Light Modern',
};

/** The frame of the view of an explanation, once it is drawn. */
function schedule(page) {
  return until('the view of the explanation is drawn', async () => {
    for (const frame of page.frames()) {
      const caption = await frame.locator('caption').textContent({ timeout: 200 }).catch(() => null);
      if (caption === 'The order that fails') {
        return frame;
      }
    }
    return undefined;
  });
}

async function command(page, title) {
  await page.keyboard.press('F1');
  await page.locator('.quick-input-widget input').first().waitFor();
  await page.keyboard.type(title);
  await until(`the command "${title}" is offered`, async () =>
    (await texts(page, '.quick-input-list .monaco-list-row.focused')).includes(title.replace('unsnarl: ', '')),
  );
  await page.keyboard.press('Enter');
}

const line = async (page) => (await texts(page, '.statusbar-item')).match(/Ln (\d+)/)?.[1];

await main(options, async (page, shot) => {
  const rows = '.monaco-workbench .explorer-folders-view .monaco-list-row';
  await until('the workbench is drawn', () => page.locator(rows).first().isVisible());
  await page.keyboard.press('Control+P');
  await page.locator('.quick-input-widget input').first().waitFor();
  await page.keyboard.type(file);
  await until('the file is found', async () => (await texts(page, '.quick-input-list .monaco-list-row.focused')).includes(file));
  await page.keyboard.press('Enter');
  await until('the file is open', async () => (await texts(page, '.view-lines')).includes('account'));
  await until('the status bar counts the bug', async () => (await texts(page, '.statusbar-item')).includes('unsnarl: 1 bug'));

  await command(page, 'unsnarl: Go to Next Step');
  await until('it goes to the first step', async () => (await line(page)) === '46');
  await until('errors are underlined', async () => (await page.locator('.cdr.squiggly-error').count()) > 0);
  await until('steps stand at the ends of lines', async () => {
    const text = await texts(page, '.view-lines');
    return text.includes('(1) main.2 reads 300') && text.includes('(2) main.1 writes 500');
  });
  await until('and what had to hold', async () => (await texts(page, '.view-lines')).includes('// main.2: available <= 300'));
  await until('lenses offer to explain', async () => (await texts(page, '.codelens-decoration')).includes('unsnarl: explain'));
  await command(page, 'unsnarl: Go to Next Step');
  await until('and to the one in the other thread', async () => (await line(page)) === '38');
  await shot('steps');

  await page.locator('.view-line', { hasText: 'long available = account.balance' }).first().locator('span span').last().hover();
  await until('the hover says what happened', async () => {
    const text = await texts(page, '.monaco-hover');
    return text.includes('was lost') && text.includes('main.2') && text.includes('300');
  });
  await shot('hover');
  await page.keyboard.press('Escape');
  await page.mouse.move(900, 700);

  await command(page, 'unsnarl: Show Explanation');
  const frame = await schedule(page);
  const heads = await frame.locator('thead th').allTextContents();
  check('a lane for each thread', heads.length >= 3, heads);
  const second = frame.locator('button[data-step="1"]');
  check('the step in between is lit', (await frame.locator('tr.intrudes button').getAttribute('data-step')) === '1');
  await frame.locator('button[data-step="0"]').click();
  await until('a click goes to the line', async () => (await line(page)) === '46');
  await until('and the view lights it', async () => ((await frame.locator('button.here').getAttribute('data-step')) ?? '') === '0');
  await second.click();
  await until('so does the next', async () => (await line(page)) === '38');
  await shot('explanation');

  await page.keyboard.press('Control+Shift+M');
  await until('the problems are listed', async () => (await texts(page, '.markers-panel .monaco-list-row')).includes('was lost'));
  await shot('problems');
});
fs.rmSync(state, { recursive: true, force: true });
