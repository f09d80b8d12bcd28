// A folder that the user has not trusted, in high contrast: everything can be read, nothing runs.
// node untrusted.mjs WORKSPACE FILE PICTURES
import { check, fromArguments, main, texts, until } from './rig.mjs';
import { ask, command, line, open, schedule } from './user.mjs';

const options = fromArguments({ theme: 'Default High Contrast', untrusted: true });

/** What a command's search offers. */
async function offered(page, words) {
  await (await ask(page, 'F1')).fill(`>${words}`);
  // Another command of the same search is there, so the list is that of these words.
  await until(`something is found for "${words}"`, async () => (await texts(page, '.quick-input-list .monaco-list-row.focused')).includes('unsnarl: Re'));
  const found = await texts(page, '.quick-input-list .monaco-list-row');
  await page.keyboard.press('Escape');
  return found;
}

await main(options, async (page, shot) => {
  await open(page, options.file);
  await until('the editor is restricted', async () => (await texts(page, '.statusbar-item')).includes('Restricted Mode'));
  await until('the bug is shown all the same', async () => (await texts(page, '.statusbar-item')).includes('unsnarl: 1 bug'));
  await command(page, 'unsnarl: Go to Next Step');
  await until('steps are gone along', async () => (await line(page)) === '46');
  await command(page, 'unsnarl: Show Explanation');
  const frame = await schedule(page);
  await until('a fix can be applied', async () => (await texts(frame, 'button.action')).includes('Apply the fix'));
  check('but not verified', !(await texts(frame, 'button.action')).includes('Verify'), await texts(frame, 'button.action'));

  await until('lenses offer to explain', async () => (await texts(page, '.codelens-decoration')).includes('unsnarl: explain'));
  const lenses = await texts(page, '.codelens-decoration');
  check('and not to run', !/replay|verify/.test(lenses), lenses);
  const commands = await offered(page, 'unsnarl: Re');
  check('no command does', commands.includes('Restart Server') && !/Record|Replay/.test(commands), commands);
  await page.keyboard.press('Control+.');
  await until('actions are offered', async () => (await texts(page, '.action-widget')).includes('unsnarl: explain'));
  const actions = await texts(page, '.action-widget');
  check('a fix among them, and nothing that runs', actions.includes('keep `account.lock`') && !/replay|verify the fix/.test(actions), actions);
  await page.keyboard.press('Escape');
  const status = page.locator('.statusbar-item', { hasText: 'unsnarl: 1 bug' }).first();
  await until('the status says why', async () => {
    // A hover that begins while something else is being closed is lost: the pointer has to come again.
    await page.mouse.move(0, 0);
    await status.hover();
    await page.waitForTimeout(1500);
    return (await texts(page, '.monaco-hover')).includes('this workspace is not trusted');
  });

  const seen = await frame.evaluate(() => {
    const style = (selector) => getComputedStyle(document.querySelector(selector));
    const step = style('button.step.here');
    const opaque = (color) => !color.startsWith('rgba') && color !== 'transparent';
    return {
      contrast: document.body.classList.contains('vscode-high-contrast'),
      bordered: step.borderTopStyle === 'solid' && opaque(step.borderTopColor) && step.borderTopColor !== step.backgroundColor,
      filled: opaque(step.backgroundColor),
      lit: style('figure.fails g.arrow.turned path').stroke !== style('figure.passes g.arrow.turned path').stroke,
    };
  });
  check('high contrast: cards have borders, hide what is behind them, and what differs is lit', Object.values(seen).every(Boolean), seen);
  await shot('high-contrast');
});
