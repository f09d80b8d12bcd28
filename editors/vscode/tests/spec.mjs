// What a user sees, in a real VS Code: node spec.mjs WORKSPACE FILE PICTURES
import fs from 'node:fs';
import path from 'node:path';
import { check, fromArguments, main, texts, until } from './rig.mjs';
import { ask, command, debug, line, open, schedule } from './user.mjs';

const options = fromArguments({ theme: process.env.UNSNARL_TEST_THEME ?? 'Default Light Modern' });
const { workspace, file } = options;

await main(options, async (page, shot) => {
  await open(page, file);
  await until('the status bar counts the bug', async () => (await texts(page, '.statusbar-item')).includes('unsnarl: 1 bug'));
  const yes = page.locator('.notifications-toasts .monaco-button', { hasText: 'Run It' }).first();
  await until('it asks before it runs the program', () => yes.isVisible());
  await yes.click();

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

  await command(page, 'unsnarl: Go to a Connected Line');
  const edge = page.locator('.quick-input-list .monaco-list-row', { hasText: 'step 3: ' }).first();
  await until('the next step is connected', () => edge.isVisible());
  await edge.click();
  await until('to where the update is lost', async () => (await line(page)) === '54');
  await command(page, 'unsnarl: Go to Previous Step');
  await until('and a step back', async () => (await line(page)) === '38');

  await debug(page, shot);

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
  const captions = await frame.locator('figcaption').allTextContents();
  check('the order that fails is beside one that passes', captions[0].startsWith('The order that fails') && captions[1].startsWith('An order that passes'), captions);
  const numbers = (side) => frame.locator(`figure.${side} button.step`).evaluateAll((steps) => steps.map((step) => step.dataset.step).join(' '));
  const fails = await numbers('fails');
  const passes = await numbers('passes');
  check('with the same steps in another order', fails === '1 2 3 4' && passes !== fails && passes.split(' ').sort().join(' ') === fails, [fails, passes]);
  const heads = await frame.locator('figure.fails .head').allTextContents();
  check('a lane for each thread', heads.length === 3 && heads[2] === 'cash_machine (main.2)', heads);
  await until('arrows are drawn, what differs is lit in both', async () => {
    const all = await frame.locator('figure.fails g.arrow').count();
    const lit = await frame.locator('figure.fails g.arrow.turned').count();
    return all >= 3 && lit >= 1 && lit < all && (await frame.locator('figure.passes g.arrow.turned').count()) === lit;
  });
  check('and said', (await texts(frame, '.difference')).includes('the other way round'), await texts(frame, '.difference'));
  const values = await texts(frame, 'figure.fails .values td');
  check('values stand in a timeline', ['300', '500', '250'].every((value) => values.includes(value)), values);
  const step = (side, number) => frame.locator(`figure.${side} button[data-step="${number}"]`);
  await step('fails', 1).click();
  await until('a click goes to the line', async () => (await line(page)) === '46');
  await until('and both orders light the step of the cursor', async () => (await frame.locator('button.here[data-step="1"]').count()) === 2);
  await step('passes', 2).click();
  await until('so does one in the passing order', async () => (await line(page)) === '38');
  await shot('schedules');
  await step('fails', 1).focus();
  for (const key of ['ArrowDown', 'ArrowDown', 'ArrowRight']) {
    await page.keyboard.press(key);
  }
  const focused = () => frame.evaluate(() => `${document.activeElement?.dataset?.passing} ${document.activeElement?.dataset?.step}`);
  check('keys go from step to step and to the other order', (await focused()) === 'true 3', await focused());
  await page.keyboard.press('Enter');
  await until('and Enter to the line', async () => (await line(page)) === '54');

  await command(page, 'Focus on Concurrency Bugs View');
  await until('the orders were run again', async () => (await texts(page, '.pane-body .monaco-list-row')).includes('fails 10/10, otherwise passes 10/10'));
  await until('and the fix is there', async () => (await texts(page, '.pane-body .monaco-list-row')).includes('Fix: keep account.lock'));

  await command(page, 'Testing: Focus on Test Explorer View');
  const test = page.locator('.test-explorer .monaco-list-row').first();
  await until('the recorded program is a test that fails', async () => {
    const label = (await test.getAttribute('aria-label')) ?? '';
    return label.includes(path.basename(file, path.extname(file))) && label.includes('Failed');
  });
  const kept = () => fs.readdirSync(path.join(workspace, '.unsnarl/runs')).length;
  const runs = kept();
  await test.hover();
  await test.locator('.codicon-testing-run-icon').first().click();
  await until('to run it records it again', () => kept() > runs);
  await until('and it still fails', async () => ((await test.getAttribute('aria-label')) ?? '').includes('Failed'));
  await shot('tests');
  await command(page, 'View: Show Explorer');

  // Other commands have these words, too, so that the first is another one.
  await (await ask(page, 'F1')).fill('>Tasks: Run Task');
  for (const entry of [/^Tasks: Run Task$/, /^\s*unsnarl\s*$/, /^\s*unsnarl: explain/]) {
    const row = page.locator('.quick-input-list .monaco-list-row .monaco-highlighted-label', { hasText: entry }).first();
    await until(`${entry} is offered`, () => row.isVisible());
    await row.click();
  }
  const problems = page.locator('[id="status.problems"]').first();
  await until('the task puts its lines among the problems', async () => ((await problems.innerHTML()) ?? '').includes('Infos: 4'));

  await page.keyboard.press('Control+Shift+M');
  await until('the problems are listed', async () => (await texts(page, '.markers-panel .monaco-list-row')).includes('was lost'));
  await shot('problems');
  await page.keyboard.press('Control+Shift+M');

  await command(page, 'unsnarl: Go to Previous Step');
  await until('the cursor is back at the second step', async () => (await line(page)) === '38');
  await page.keyboard.press('Control+.');
  await until('a fix is offered', async () => (await texts(page, '.action-widget')).includes('unsnarl: keep `account.lock`'));
  await shot('fix');
  await page.locator('.action-widget .monaco-list-row', { hasText: 'unsnarl: keep `account.lock`' }).first().click();
  const source = path.join(workspace, file);
  const before = fs.readFileSync(source, 'utf8');
  const isChanged = async () => (await page.locator('.tab.dirty').count()) > 0;
  await until('it is applied', isChanged);
  await page.locator('.view-line').first().click();
  await page.keyboard.press('Control+Z');
  await until('and taken back', async () => !(await isChanged()));
  await command(page, 'unsnarl: Preview the Fix');
  const preview = page.locator('.bulk-edit-panel');
  await until('its changes are listed before they are made', async () => (await preview.locator('.monaco-list-row').count()) > 0);
  check('and none of them is made', !(await isChanged()));
  await shot('preview');
  await preview.locator('.monaco-button', { hasText: 'Discard' }).first().click();
  const was = await line(page);
  await frame.locator('button.action', { hasText: 'Apply the fix' }).click();
  await until('the view applies it, too', isChanged);
  await until('and shows where', async () => (await line(page)) !== was);
  // Whatever has the focus now: the view's frame takes it back when it is drawn again.
  await command(page, 'File: Save All');
  await until('and saved', () => fs.readFileSync(source, 'utf8') !== before);
});
