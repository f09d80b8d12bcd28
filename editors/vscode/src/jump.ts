// Going from step to step and along edges.
import * as vscode from 'vscode';
import { type Jump } from './protocol';
import { type Server } from './server';

export function jumps(server: Server): vscode.Disposable {
  return vscode.Disposable.from(
    vscode.commands.registerCommand('unsnarl.nextStep', () => step(server, 'next')),
    vscode.commands.registerCommand('unsnarl.previousStep', () => step(server, 'previous')),
    vscode.commands.registerCommand('unsnarl.firstStep', () => first(server, 'next')),
    vscode.commands.registerCommand('unsnarl.jump', () => choose(server)),
  );
}

async function here(server: Server): Promise<Jump[]> {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined) {
    return [];
  }
  const { line, character } = editor.selection.active;
  return server.jumps({ textDocument: { uri: editor.document.uri.toString() }, position: { line, character } });
}

/** To the step behind or before the one at the cursor; to the first or last one from elsewhere. */
async function step(server: Server, kind: 'next' | 'previous'): Promise<void> {
  const ways = await here(server);
  const way = ways.find((jump) => jump.kind === kind);
  if (way !== undefined) {
    await go(server, way.location, way.title);
    return;
  }
  if (ways.length > 0) {
    void vscode.window.setStatusBarMessage(`unsnarl: this is the ${kind === 'next' ? 'last' : 'first'} step`, 4000);
    return;
  }
  await first(server, kind);
}

/** To the first step of the selected explanation, or to the last one. */
async function first(server: Server, kind: 'next' | 'previous'): Promise<void> {
  const { explanations, selected } = await server.explanations();
  const explanation = explanations.find((one) => one.id === selected);
  const locations = (explanation?.stepLocations ?? []).filter((location) => location !== null);
  const location = kind === 'next' ? locations[0] : locations.at(-1);
  if (location === undefined) {
    void vscode.window.showInformationMessage('unsnarl: there are no steps to go to.');
  } else {
    await go(server, location, explanation?.headline ?? '');
  }
}

async function choose(server: Server): Promise<void> {
  const ways = await here(server);
  if (ways.length === 0) {
    void vscode.window.showInformationMessage('unsnarl: no step or order of an explanation is connected with this line.');
    return;
  }
  const items = ways.map((jump) => ({ label: jump.title, jump }));
  const item = items.length === 1 ? items[0] : await vscode.window.showQuickPick(items, { placeHolder: 'Go to' });
  if (item !== undefined) {
    await go(server, item.jump.location, item.jump.title);
  }
}

/** Shows a place and says why one is there. */
export async function go(server: Server, location: Jump['location'], title: string): Promise<void> {
  const selection = server.range(location.range);
  const column = vscode.window.visibleTextEditors.find((editor) => editor.document.uri.toString() === location.uri)?.viewColumn;
  await vscode.window.showTextDocument(vscode.Uri.parse(location.uri), {
    selection: new vscode.Range(selection.start, selection.start),
    viewColumn: column ?? vscode.ViewColumn.One,
  });
  void vscode.window.setStatusBarMessage(`unsnarl: ${title}`, 6000);
}
