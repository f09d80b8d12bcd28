// Recording, replaying and verifying, in a terminal, and only when the user asks.
import * as vscode from 'vscode';
import { fixOf } from './fix';
import { type Explanation } from './protocol';
import { idOf } from './schedule';
import { type Server, binary } from './server';

export function running(server: Server, state: vscode.Memento): vscode.Disposable {
  return vscode.Disposable.from(
    vscode.commands.registerCommand('unsnarl.record', () => record(server, state)),
    vscode.commands.registerCommand('unsnarl.recordAgain', (argument?: unknown) => recordAgain(server, argument)),
    vscode.commands.registerCommand('unsnarl.replay', (argument?: unknown) => replay(server, argument)),
    vscode.commands.registerCommand('unsnarl.verify', (argument?: unknown) => verify(server, argument)),
  );
}

const LAST = 'unsnarl.program';

async function record(server: Server, state: vscode.Memento): Promise<void> {
  const program = await vscode.window.showInputBox({
    title: 'Record runs until some fail',
    prompt: 'The program and its arguments, built with "unsnarl cc"',
    placeHolder: './program --its arguments',
    value: state.get<string>(LAST) ?? '',
  });
  if (program === undefined || program.trim() === '') {
    return;
  }
  await state.update(LAST, program);
  await tell(server, await inTerminal('record', `record --until-failing 3 -- ${program}`));
}

/** What came of recording, and where to go on. */
async function tell(server: Server, status: number | undefined): Promise<void> {
  if (status === 0) {
    void vscode.window.showInformationMessage('unsnarl: every run passed.');
  } else if (status === 1) {
    const explanation = await server.explained();
    const [show, step] = ['Show Explanation', 'Go to First Step'];
    const headline = explanation?.headline.replaceAll('`', '') ?? 'some runs failed; nothing explains them yet';
    const choice = await vscode.window.showInformationMessage(`unsnarl: ${headline}.`, ...(explanation === undefined ? [] : [show, step]));
    if (choice === show) {
      await vscode.commands.executeCommand('unsnarl.showExplanation');
    } else if (choice === step) {
      await vscode.commands.executeCommand('unsnarl.firstStep');
    }
  } else if (status !== undefined) {
    void vscode.window.showErrorMessage('unsnarl: the program could not be recorded; the terminal says why.');
  }
}

/** The program of an explanation once more: after a change, for instance. */
async function recordAgain(server: Server, argument: unknown): Promise<void> {
  const explanation = await about(server, argument);
  if (explanation === undefined || explanation.command.length === 0) {
    await vscode.commands.executeCommand('unsnarl.record');
    return;
  }
  await tell(server, await recordCommand(explanation.command, explanation.directory));
}

/** Records runs of a program until some fail; the exit status of `unsnarl record`. */
export async function recordCommand(command: string[], directory: string, token?: vscode.CancellationToken): Promise<number | undefined> {
  return inTerminal('record', `record --until-failing 3 -- ${command.map(quoted).join(' ')}`, directory, token);
}

/** A run's name, a node of the tree, or nothing: then the failing run of the selected explanation. */
async function replay(server: Server, argument: unknown): Promise<void> {
  const name = typeof argument === 'string' ? argument : undefined;
  const explanation = name === undefined ? await about(server, argument) : undefined;
  const run = name ?? (explanation?.run || explanation?.runs[0]);
  if (run === undefined) {
    void vscode.window.showInformationMessage('unsnarl: no failing run was recorded yet.');
    return;
  }
  await inTerminal('replay', `replay ${quoted(run)}`, explanation?.folder);
}

/** Tries the fix of an explanation: by its id, a node of the tree, or the selected one. */
async function verify(server: Server, argument: unknown): Promise<void> {
  const explanation = await about(server, argument);
  if (explanation === undefined) {
    void vscode.window.showInformationMessage('unsnarl: nothing is explained, so there is no fix to verify.');
    return;
  }
  const at = fixOf(argument)?.number;
  const build = vscode.workspace.getConfiguration('unsnarl', workspaceFolderOf(explanation)).get<string>('buildCommand', '');
  const words = `verify ${quoted(explanation.id)}${at === undefined ? '' : `:${at}`}${build === '' ? '' : ` --build ${quoted(build)}`}`;
  const status = await inTerminal('verify', words, explanation.folder);
  if (status === 0) {
    const apply = 'Apply the Fix';
    const choice = await vscode.window.showInformationMessage('unsnarl: the fix holds; the terminal says in which schedules.', apply);
    if (choice === apply) {
      await vscode.commands.executeCommand('unsnarl.applyFix', argument ?? explanation.id);
    }
  } else if (status === 1) {
    void vscode.window.showWarningMessage('unsnarl: the fix does not hold; the terminal shows the schedule that fails.');
  } else if (status !== undefined) {
    void vscode.window.showErrorMessage('unsnarl: the fix could not be tried; the terminal says why.');
  }
}

async function about(server: Server, argument: unknown): Promise<Explanation | undefined> {
  const { explanations, selected } = await server.explanations();
  const id = idOf(argument) ?? selected;
  return explanations.find((explanation) => explanation.id === id);
}

/** The workspace folder whose runs an explanation is of. */
export function workspaceFolderOf(explanation: Explanation): vscode.WorkspaceFolder | undefined {
  const location = explanation.stepLocations.find((one) => one !== null) ?? explanation.failureLocation;
  return location ? vscode.workspace.getWorkspaceFolder(vscode.Uri.parse(location.uri)) : undefined;
}

/** Runs unsnarl where the user can read along. Its exit status, once it has ended; none if the token has ended it. */
async function inTerminal(name: string, words: string, folder?: string, token?: vscode.CancellationToken): Promise<number | undefined> {
  if (!vscode.workspace.isTrusted) {
    void vscode.window.showWarningMessage('unsnarl: programs run only in workspaces that you trust.');
    return undefined;
  }
  const cwd = folder ?? vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  const execution = new vscode.ShellExecution(`${quoted(binary())} ${words}`, cwd === undefined ? {} : { cwd });
  const task = new vscode.Task({ type: 'unsnarl', command: name }, vscode.TaskScope.Workspace, name, 'unsnarl', execution);
  task.presentationOptions = { clear: true, showReuseMessage: false };
  const ended = new Promise<number | undefined>((resolve) => {
    const listener = vscode.tasks.onDidEndTaskProcess((event) => {
      if (event.execution.task.definition['command'] === name && event.execution.task.source === 'unsnarl') {
        listener.dispose();
        resolve(event.exitCode);
      }
    });
  });
  const running = await vscode.tasks.executeTask(task);
  const cancelled = token?.onCancellationRequested(() => running.terminate());
  const status = await ended;
  cancelled?.dispose();
  return token?.isCancellationRequested ? undefined : status;
}

export function quoted(word: string): string {
  return /^[\w./:=-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
