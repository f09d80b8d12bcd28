// What a user does in the editor, as both tests do it.
import { eventually, texts, until } from './rig.mjs';

/**
 * Opens a box of the editor by its key. The frame of a view that is just drawn again swallows keys: each further try
 * takes the focus from it.
 */
export async function ask(page, key) {
  const box = page.locator('.quick-input-box input').first();
  await eventually(`${key} opens a box`, async () => {
    await page.keyboard.press(key);
    await box.waitFor({ timeout: 2_000 }).catch(async (error) => {
      await page.evaluate(() => document.activeElement?.blur());
      throw error;
    });
    return true;
  });
  return box;
}

/** Opens a file by its name, as soon as there is something to open it with. */
export async function open(page, file) {
  const rows = '.monaco-workbench .explorer-folders-view .monaco-list-row';
  await until('the workbench is drawn', () => page.locator(rows).first().isVisible());
  await (await ask(page, 'Control+P')).fill(file);
  await until('the file is found', async () => (await texts(page, '.quick-input-list .monaco-list-row.focused')).includes(file));
  await page.keyboard.press('Enter');
  await until('the file is open', async () => (await texts(page, '.view-lines')).includes('#include'));
}

/** The frame of the view of an explanation, once both orders are drawn. */
export function schedule(page) {
  return until('the view of the explanation is drawn', async () => {
    for (const frame of page.frames()) {
      const captions = await frame.locator('figcaption').allTextContents().catch(() => []);
      if (captions.length === 2) {
        return frame;
      }
    }
    return undefined;
  });
}

/** Runs a command by its title. What is typed goes to the box, even when a view takes the focus meanwhile. */
export async function command(page, title) {
  const box = await ask(page, 'F1');
  await box.fill(`>${title}`);
  await until(`the command "${title}" is offered`, async () =>
    (await texts(page, '.quick-input-list .monaco-list-row.focused')).includes(title.replace('unsnarl: ', '')),
  );
  await box.press('Enter');
}

/** The line of the cursor, as the status bar says it. */
export const line = async (page) => (await texts(page, '.statusbar-item')).match(/Ln (\d+)/)?.[1];

/** Debugs the failing run of the selected explanation: from step to step, and back. */
export async function debug(page, shot) {
  const stands = async (number, thread) => {
    const isAt = (await line(page)) === number && (await page.locator('.debug-top-stack-frame-line').count()) > 0;
    return isAt && (await texts(page, '.debug-call-stack')).includes(thread);
  };
  await command(page, 'View: Show Run and Debug');
  await command(page, 'unsnarl: Debug the Failing Run');
  await until('the run is debugged, and stands at the first step', () => stands('46', 'main.2'));
  await command(page, 'unsnarl: Run to the Next Step of the Explanation');
  await until('then at the second, in the other thread', () => stands('38', 'main.1'));
  await until('variables have their values', async () => /amount\s*=\s*200/.test(await texts(page, '.debug-variables')));
  await shot('debug');
  await page.locator('.debug-toolbar .codicon-debug-step-back').first().click();
  await until('a step back starts over, and stands at the first', () => stands('46', 'main.2'));
  await page.locator('.debug-toolbar .codicon-debug-stop').first().click();
  await until('the session ends', async () => (await page.locator('.debug-top-stack-frame-line').count()) === 0);
  await command(page, 'View: Show Explorer');
}
