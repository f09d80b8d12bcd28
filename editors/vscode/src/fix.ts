// Applying a fix: the server's quick fix, from wherever one reads about it.
import * as vscode from 'vscode';
import { type Explanation, type Fix } from './protocol';
import { idOf } from './schedule';
import { type Server } from './server';

export function fixes(server: Server): vscode.Disposable {
  return vscode.commands.registerCommand('unsnarl.applyFix', (argument?: unknown) => apply(server, argument));
}

/** Which fix a node of the tree is about. Its number is its place, from 1, where the server names none. */
export function fixOf(argument: unknown): { title: string; number: number } | undefined {
  if (typeof argument !== 'object' || argument === null || !('fix' in argument) || !('at' in argument)) {
    return undefined;
  }
  const { fix, at } = argument as { fix: Fix; at: number };
  return { title: fix.title, number: fix.number ?? at + 1 };
}

/** Edits the source and shows where; of an explanation's fixes the first, unless a node of the tree names one. */
async function apply(server: Server, argument: unknown): Promise<void> {
  const { explanations, selected } = await server.explanations();
  const explanation = explanations.find((one) => one.id === (idOf(argument) ?? selected));
  const title = fixOf(argument)?.title ?? explanation?.fixes?.[0]?.title;
  if (explanation === undefined || title === undefined) {
    void vscode.window.showInformationMessage('unsnarl: there is no fix to apply.');
    return;
  }
  const action = await find(explanation, title);
  if (action?.edit === undefined) {
    const why = action?.disabled?.reason ?? 'its lines are not as they were when the program was recorded';
    void vscode.window.showWarningMessage(`unsnarl: the fix cannot be applied: ${why}.`);
    return;
  }
  const [uri, edits] = action.edit.entries()[0] ?? [];
  if ((await vscode.workspace.applyEdit(action.edit)) && uri !== undefined) {
    const editor = await vscode.window.showTextDocument(uri, { viewColumn: vscode.ViewColumn.One });
    const start = edits?.[0]?.range.start ?? new vscode.Position(0, 0);
    editor.selection = new vscode.Selection(start, start);
    editor.revealRange(new vscode.Range(start, start), vscode.TextEditorRevealType.InCenter);
    void vscode.window.setStatusBarMessage('unsnarl: the fix is applied; build and record again to see that it holds', 10000);
  }
}

/** The server offers its fixes at the lines that the explanation marks. */
async function find(explanation: Explanation, title: string): Promise<vscode.CodeAction | undefined> {
  for (const location of explanation.stepLocations) {
    if (location !== null) {
      const { line, character } = location.range.start;
      const uri = vscode.Uri.parse(location.uri);
      await vscode.workspace.openTextDocument(uri);
      const at = new vscode.Range(line, character, line, character);
      const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>('vscode.executeCodeActionProvider', uri, at, 'quickfix');
      const action = actions.find((one) => one.title.startsWith(`unsnarl: ${title} `));
      if (action !== undefined) {
        return action;
      }
    }
  }
  return undefined;
}
