// Debugging the failing run of an explanation: gdb follows its schedule, by `unsnarl dap`.
import * as vscode from 'vscode';
import { type Explanation } from './protocol';
import { workspaceFolderOf } from './run';
import { idOf } from './schedule';
import { type Server, binary } from './server';

const TYPE = 'unsnarl';

/** Commands that a session is told to execute, with the adapter's requests. */
const REQUESTS: Record<string, string> = {
  'unsnarl.debugNextStep': 'unsnarl/nextStep',
  'unsnarl.debugPreviousStep': 'unsnarl/previousStep',
  'unsnarl.debugFailure': 'unsnarl/runToFailure',
  'unsnarl.debugPointOfNoReturn': 'unsnarl/pointOfNoReturn',
  'unsnarl.debugPassingSide': 'unsnarl/passingSide',
  'unsnarl.debugFailingSide': 'unsnarl/failingSide',
};

export function debugging(server: Server): vscode.Disposable {
  const requests = Object.entries(REQUESTS).map(([command, request]) => vscode.commands.registerCommand(command, () => tell(request)));
  return vscode.Disposable.from(
    vscode.debug.registerDebugAdapterDescriptorFactory(TYPE, { createDebugAdapterDescriptor: adapter }),
    vscode.debug.registerDebugConfigurationProvider(TYPE, { resolveDebugConfiguration: (folder, given) => resolve(server, folder, given) }),
    vscode.commands.registerCommand('unsnarl.debugRun', (argument?: unknown) => debug(server, idOf(argument))),
    ...requests,
  );
}

function adapter(session: vscode.DebugSession): vscode.DebugAdapterDescriptor {
  const cwd = session.workspaceFolder?.uri.fsPath;
  return new vscode.DebugAdapterExecutable(binary(), ['dap'], cwd === undefined ? {} : { cwd });
}

/** A configuration without a run is about the selected explanation. */
async function resolve(
  server: Server,
  folder: vscode.WorkspaceFolder | undefined,
  given: vscode.DebugConfiguration,
): Promise<vscode.DebugConfiguration | undefined> {
  const config = { ...given, type: TYPE, request: 'launch', name: given.name || 'Failing run' };
  if (given['run'] !== undefined) {
    return { cwd: folder?.uri.fsPath, ...config };
  }
  const explanation = await find(server, undefined);
  return explanation && { ...config, ...about(explanation) };
}

/** What a configuration says of an explanation. */
function about(explanation: Explanation): { run: string; explanation: string; cwd: string } {
  const folder = workspaceFolderOf(explanation) ?? vscode.workspace.workspaceFolders?.[0];
  const runs = vscode.workspace.getConfiguration('unsnarl', folder).get<string>('runsFolder') || '.unsnarl/runs';
  const name = explanation.run || (explanation.runs[0] ?? '');
  return { run: `${runs}/${name}.arrow`, explanation: explanation.id, cwd: explanation.folder };
}

async function find(server: Server, id: string | undefined): Promise<Explanation | undefined> {
  const { explanations, selected } = await server.explanations();
  const explanation = explanations.find((one) => one.id === (id ?? selected));
  if (explanation === undefined) {
    void vscode.window.showInformationMessage('unsnarl: no failing run is explained yet, so there is none to debug.');
  }
  return explanation;
}

async function debug(server: Server, id: string | undefined): Promise<void> {
  const explanation = await find(server, id);
  if (explanation !== undefined) {
    const name = explanation.headline.replaceAll('`', '');
    await vscode.debug.startDebugging(workspaceFolderOf(explanation), { type: TYPE, request: 'launch', name, ...about(explanation) });
  }
}

async function tell(request: string): Promise<void> {
  const session = vscode.debug.activeDebugSession;
  if (session?.type !== TYPE) {
    void vscode.window.showInformationMessage('unsnarl: no run is being debugged.');
    return;
  }
  try {
    await session.customRequest(request);
  } catch (error) {
    void vscode.window.showWarningMessage(`unsnarl: ${error instanceof Error ? error.message : String(error)}`);
  }
}
