// Where it begins: each feature is a file of its own.
import * as vscode from 'vscode';
import { debugging } from './debug';
import { fixes } from './fix';
import { jumps } from './jump';
import { running } from './run';
import { ScheduleView, idOf } from './schedule';
import { Server } from './server';
import { status } from './status';
import { tests } from './tests';
import { tasks } from './tasks';
import { Tree, tally } from './tree';

export async function activate(context: vscode.ExtensionContext): Promise<void> {
  const server = new Server();
  context.subscriptions.push(
    server,
    status(server),
    new Tree(server).register(),
    new ScheduleView(server, context.extensionUri),
    fixes(server),
    jumps(server),
    running(server, context.workspaceState),
    debugging(server),
    tests(server),
    tasks(server),
    vscode.commands.registerCommand('unsnarl.chooseExplanation', () => choose(server)),
    vscode.commands.registerCommand('unsnarl.askSuppress', (argument?: unknown) => suppress(idOf(argument))),
    vscode.commands.registerCommand('unsnarl.restartServer', () => server.start()),
    vscode.commands.registerCommand('unsnarl.walkthrough', () => walkthrough(context.extension.id)),
    vscode.commands.registerCommand('unsnarl.showLog', () => server.showLog()),
    // Only now may programs be run, and what runs them be offered.
    vscode.workspace.onDidGrantWorkspaceTrust(() => server.start()),
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration('unsnarl.server.path')) {
        void server.start();
      }
    }),
  );
  await vscode.commands.executeCommand('setContext', 'unsnarl.active', true);
  await server.start();
}

async function walkthrough(extension: string): Promise<void> {
  await vscode.commands.executeCommand('workbench.action.openWalkthrough', `${extension}#start`, false);
}

async function choose(server: Server): Promise<void> {
  const { explanations, selected } = await server.explanations();
  const items = explanations.map((explanation) => ({
    label: `${explanation.id === selected ? '$(target) ' : ''}${explanation.headline}`,
    description: tally(explanation),
    id: explanation.id,
  }));
  const item = await vscode.window.showQuickPick(items, { placeHolder: 'Show the steps of' });
  if (item !== undefined) {
    await server.select(item.id);
  }
}

/** Calls an explanation harmless, with the reason; the server writes it down. */
async function suppress(id: string | undefined): Promise<void> {
  if (id === undefined) {
    return;
  }
  const reason = await vscode.window.showInputBox({
    title: 'Call this harmless',
    prompt: 'Why it is; this is written into .unsnarl-suppressions.toml, which can be committed',
  });
  if (reason !== undefined && reason.trim() !== '') {
    await vscode.commands.executeCommand('unsnarl.suppress', id, reason.trim());
  }
}
