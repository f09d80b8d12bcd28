// The debug adapter with the client of VS Code's own test library: node adapter.mjs WORKSPACE RUN
import assert from 'node:assert/strict';
import path from 'node:path';
import { DebugClient } from '@vscode/debugadapter-testsupport';

const [workspace, run] = process.argv.slice(2);
const source = path.join(workspace, 'bank_account.c');
const client = new DebugClient(process.env.UNSNARL_TEST_SERVER, 'dap', 'unsnarl', { cwd: workspace });
client.defaultTimeout = 60_000;
await client.start();

const stopped = client.waitForEvent('stopped');
const about = await client.initializeRequest();
assert.equal(about.body.supportsStepBack, true);
await Promise.all([client.waitForEvent('initialized'), client.launchRequest({ run, cwd: workspace })]);
const { body } = await client.setBreakpointsRequest({ source: { path: source }, breakpoints: [{ line: 54 }] });
assert.equal(body.breakpoints[0].verified, true);
await client.configurationDoneRequest();
assert.equal((await stopped).body.description, 'step 1 of 4');

const threads = await client.threadsRequest();
assert.deepEqual(threads.body.threads.map((thread) => thread.name).sort(), ['main', 'main.1', 'main.2']);
const { threadId } = (await stopped).body;
const hit = client.assertStoppedLocation('breakpoint', { path: source, line: 54 });
await client.continueRequest({ threadId });
await hit;
const back = client.assertStoppedLocation('step', { path: source, line: 38 });
await client.stepBackRequest({ threadId });
const { stackFrames } = (await back).body;
const { scopes } = (await client.scopesRequest({ frameId: stackFrames[0].id })).body;
const { variables } = (await client.variablesRequest({ variablesReference: scopes[0].variablesReference })).body;
assert.deepEqual([variables[0].name, variables[0].value], ['amount', '200']);
const { result } = (await client.evaluateRequest({ expression: 'account.balance', frameId: stackFrames[0].id })).body;
assert.equal(result, '300');
await client.stop();
console.log('ok');
