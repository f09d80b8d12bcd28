// Applying a fix: the server's quick fix, from wherever one reads about it.
import * as vscode from 'vscode';
import { type CodeAction, type Location } from 'vscode-languageclient/node';
import { type Explanation, type Fix } from './protocol';
import { idOf } from './schedule';
import { type Server } from './server';

export function fixes(server: Server): vscode.Disposable {
  return vscode.Disposable.from(
    vscode.commands.registerCommand('unsnarl.applyFix', (argument?: unknown) => apply(server, argument)),
    vscode.commands.registerCommand('unsnarl.previewFix', (argument?: unknown) => preview(server, argument)),
    vscode.commands.registerCommand('unsnarl.more', (_id: string, actions: CodeAction[]) => more(server, actions)),
    vscode.commands.registerCommand('unsnarl.fixApplied', applied),
  );
}

/** Lets the user choose among the actions that are not in the menu. */
async function more(server: Server, ofProtocol: CodeAction[]): Promise<void> {
  const actions = await server.actions(ofProtocol);
  const items = actions.map((action) => ({ label: action.title, description: action.disabled?.reason ?? '', action }));
  const item = await vscode.window.showQuickPick(items, { placeHolder: 'unsnarl' });
  if (item !== undefined && item.action.disabled === undefined) {
    await execute(item.action);
  }
}

/** Does what an action says: its edit first. */
async function execute({ edit, command }: vscode.CodeAction): Promise<boolean> {
  const isEdited = edit === undefined || (await vscode.workspace.applyEdit(edit));
  if (isEdited && command !== undefined) {
    await vscode.commands.executeCommand(command.command, ...(command.arguments ?? []));
  }
  return isEdited;
}

/** Says that a fix was applied, and shows its places if the user wants to see them. */
function applied(title: string, places: { location: Location; text: string }[]): void {
  const show = places.length === 1 ? 'Show the Change' : `Show the ${places.length} Changes`;
  const told = `${title.replaceAll('`', '')}: applied. Build and record again to see that it holds.`;
  void vscode.window.showInformationMessage(told, show).then(async (choice) => {
    const [first] = places;
    if (choice !== undefined && first !== undefined) {
      const at = places.map(({ location: { uri, range } }) => new vscode.Location(vscode.Uri.parse(uri), new vscode.Position(range.start.line, range.start.character)));
      const begin = at[0] as vscode.Location;
      await vscode.window.showTextDocument(begin.uri, { viewColumn: vscode.ViewColumn.One });
      await vscode.commands.executeCommand('editor.action.goToLocations', begin.uri, begin.range.start, at, 'peek', 'The fix has no changes.');
    }
  });
}

/** Which fix a node of the tree is about. Its number is its place, from 1, where the server names none. */
export function fixOf(argument: unknown): { title: string; number: number } | undefined {
  if (typeof argument !== 'object' || argument === null || !('fix' in argument) || !('at' in argument)) {
    return undefined;
  }
  const { fix, at } = argument as { fix: Fix; at: number };
  return { title: fix.title, number: fix.number ?? at + 1 };
}

/** The action of a fix that can be applied: of an explanation's fixes the first, unless a node of the tree names one. */
async function wanted(server: Server, argument: unknown): Promise<(vscode.CodeAction & { edit: vscode.WorkspaceEdit }) | undefined> {
  const { explanations, selected } = await server.explanations();
  const explanation = explanations.find((one) => one.id === (idOf(argument) ?? selected));
  const title = fixOf(argument)?.title ?? explanation?.fixes?.[0]?.title;
  if (explanation === undefined || title === undefined) {
    void vscode.window.showInformationMessage('unsnarl: there is no fix to apply.');
    return undefined;
  }
  const action = await find(server, explanation, title);
  if (action?.edit === undefined) {
    const why = action?.disabled?.reason ?? 'its lines are not as they were when the program was recorded';
    void vscode.window.showWarningMessage(`unsnarl: the fix cannot be applied: ${why}.`);
    return undefined;
  }
  return { ...action, edit: action.edit };
}

/** Shows what a fix would change, in the refactor preview: nothing is changed before the user says so there. */
async function preview(server: Server, argument: unknown): Promise<void> {
  const action = await wanted(server, argument);
  if (action === undefined) {
    return;
  }
  const label = action.title.replaceAll('`', '');
  const edit = new vscode.WorkspaceEdit();
  for (const [uri, changes] of action.edit.entries()) {
    for (const { range, newText } of changes) {
      edit.replace(uri, range, newText, { needsConfirmation: true, label });
    }
  }
  await execute({ ...action, edit });
}

/** Edits the source and shows where. */
async function apply(server: Server, argument: unknown): Promise<void> {
  const action = await wanted(server, argument);
  if (action === undefined) {
    return;
  }
  const [uri, edits] = action.edit.entries()[0] ?? [];
  if ((await execute(action)) && uri !== undefined) {
    const editor = await vscode.window.showTextDocument(uri, { viewColumn: vscode.ViewColumn.One });
    const start = edits?.[0]?.range.start ?? new vscode.Position(0, 0);
    editor.selection = new vscode.Selection(start, start);
    editor.revealRange(new vscode.Range(start, start), vscode.TextEditorRevealType.InCenter);
  }
}

/** The server offers its fixes at the lines that the explanation marks. */
async function find(server: Server, explanation: Explanation, title: string): Promise<vscode.CodeAction | undefined> {
  for (const location of explanation.stepLocations) {
    if (location !== null) {
      const { line, character } = location.range.start;
      const uri = vscode.Uri.parse(location.uri);
      await vscode.workspace.openTextDocument(uri);
      const at = new vscode.Range(line, character, line, character);
      const actions = await vscode.commands.executeCommand<vscode.CodeAction[]>('vscode.executeCodeActionProvider', uri, at, 'quickfix');
      const hidden = actions.filter((one) => one.command?.command === 'unsnarl.more').map((one) => one.command?.arguments?.[1] as CodeAction[]);
      const all = [...actions, ...(await server.actions(hidden.flat()))];
      const action = all.find((one) => one.title.startsWith(`unsnarl: ${title} `));
      if (action !== undefined) {
        return action;
      }
    }
  }
  return undefined;
}
