// Recording and replaying, in a terminal, and only when the user asks.
import * as vscode from 'vscode';
import { type Server, binary } from './server';

export function running(server: Server, state: vscode.Memento): vscode.Disposable {
  return vscode.Disposable.from(
    vscode.commands.registerCommand('unsnarl.record', () => record(state)),
    vscode.commands.registerCommand('unsnarl.replay', (argument?: unknown) => replay(server, argument)),
  );
}

const LAST = 'unsnarl.program';

async function record(state: vscode.Memento): Promise<void> {
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
  inTerminal(`record --until-failing 3 -- ${program}`);
}

/** A run's name, a node of the tree, or nothing: then the first failing run of the selected explanation. */
async function replay(server: Server, argument: unknown): Promise<void> {
  const run = typeof argument === 'string' ? argument : await firstRun(server, argument);
  if (run === undefined) {
    void vscode.window.showInformationMessage('unsnarl: no failing run was recorded yet.');
    return;
  }
  inTerminal(`replay ${quoted(run)}`);
}

async function firstRun(server: Server, node: unknown): Promise<string | undefined> {
  if (typeof node === 'object' && node !== null && 'explanation' in node) {
    const { explanation } = node as { explanation: { runs: string[] } };
    return explanation.runs[0];
  }
  const { explanations, selected } = await server.explanations();
  return explanations.find((explanation) => explanation.id === selected)?.runs[0];
}

function inTerminal(words: string): void {
  if (!vscode.workspace.isTrusted) {
    void vscode.window.showWarningMessage('unsnarl: programs run only in workspaces that you trust.');
    return;
  }
  const terminal =
    vscode.window.terminals.find((one) => one.name === 'unsnarl' && one.exitStatus === undefined) ??
    vscode.window.createTerminal({ name: 'unsnarl', cwd: vscode.workspace.workspaceFolders?.[0]?.uri });
  terminal.show(true);
  terminal.sendText(`${quoted(binary())} ${words}`);
}

function quoted(word: string): string {
  return /^[\w./:-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
