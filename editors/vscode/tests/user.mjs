// What a user does in the editor, as both tests do it.
import { texts, until } from './rig.mjs';

/** Opens a file by its name, as soon as there is something to open it with. */
export async function open(page, file) {
  const rows = '.monaco-workbench .explorer-folders-view .monaco-list-row';
  await until('the workbench is drawn', () => page.locator(rows).first().isVisible());
  await page.keyboard.press('Control+P');
  await page.locator('.quick-input-widget input').first().waitFor();
  await page.keyboard.type(file);
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
  await page.keyboard.press('F1');
  const box = page.locator('.quick-input-box input').first();
  await box.waitFor();
  await box.fill(`>${title}`);
  await until(`the command "${title}" is offered`, async () =>
    (await texts(page, '.quick-input-list .monaco-list-row.focused')).includes(title.replace('unsnarl: ', '')),
  );
  await box.press('Enter');
}

/** The line of the cursor, as the status bar says it. */
export const line = async (page) => (await texts(page, '.statusbar-item')).match(/Ln (\d+)/)?.[1];
