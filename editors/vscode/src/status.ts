// The item in the status bar: is it well, and is there something to read?
import * as vscode from 'vscode';
import { type Status } from './protocol';
import { type Server } from './server';

export function status(server: Server): vscode.Disposable {
  const item = vscode.window.createStatusBarItem('unsnarl.status', vscode.StatusBarAlignment.Left);
  item.name = 'unsnarl';
  item.text = '$(sync~spin) unsnarl';
  item.show();
  const show = async (): Promise<void> => {
    const status = await server.status();
    if (status === undefined) {
      item.text = '$(error) unsnarl';
      item.tooltip = server.problem ?? 'the server is not running';
      item.command = 'unsnarl.restartServer';
      item.backgroundColor = new vscode.ThemeColor('statusBarItem.errorBackground');
      return;
    }
    const icon = !status.quiescent ? 'sync~spin' : status.health === 'warning' ? 'warning' : 'references';
    const bugs = status.explanations === 1 ? '1 bug' : `${status.explanations} bugs`;
    item.text = `$(${icon}) unsnarl${status.explanations > 0 ? `: ${bugs}` : ''}`;
    item.tooltip = vscode.workspace.isTrusted ? status.message : `${status.message}; runs are only read: this workspace is not trusted`;
    item.command = commandFor(status);
    void vscode.commands.executeCommand('setContext', 'unsnarl.explained', status.explanations > 0);
    item.backgroundColor =
      status.health === 'warning' ? new vscode.ThemeColor('statusBarItem.warningBackground') : undefined;
  };
  return vscode.Disposable.from(
    item,
    server.onDidChange(() => void show()),
  );
}

/** What a click leads to: what there is to read, else what is wrong, else what to do first. */
function commandFor(status: Status): string {
  if (status.explanations > 0) {
    return 'unsnarl.showExplanation';
  }
  return status.health === 'warning' ? 'unsnarl.showLog' : 'unsnarl.explanations.focus';
}
