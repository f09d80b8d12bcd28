// The view of all explanations, each with its steps.
import * as vscode from 'vscode';
import { type Explanation, type Step } from './protocol';
import { type Server } from './server';

type Node = { explanation: Explanation; selected: boolean } | { explanation: Explanation; step: Step; at: number };

export class Tree implements vscode.TreeDataProvider<Node> {
  private readonly changes = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changes.event;

  constructor(private readonly server: Server) {}

  register(): vscode.Disposable {
    const view = vscode.window.createTreeView('unsnarl.explanations', { treeDataProvider: this });
    const refresh = this.server.onDidChange(() => this.changes.fire());
    return vscode.Disposable.from(view, refresh);
  }

  async getChildren(node?: Node): Promise<Node[]> {
    if (node === undefined) {
      const { explanations, selected } = await this.server.explanations();
      return explanations.map((explanation) => ({ explanation, selected: explanation.id === selected }));
    }
    const { explanation } = node;
    return 'step' in node ? [] : explanation.steps.map((step, at) => ({ explanation, step, at }));
  }

  getTreeItem(node: Node): vscode.TreeItem {
    return 'step' in node ? this.stepItem(node.explanation, node.step, node.at) : this.explanationItem(node);
  }

  private explanationItem({ explanation, selected }: { explanation: Explanation; selected: boolean }): vscode.TreeItem {
    const state = selected ? vscode.TreeItemCollapsibleState.Expanded : vscode.TreeItemCollapsibleState.Collapsed;
    const item = new vscode.TreeItem(explanation.headline.replaceAll('`', ''), state);
    item.id = explanation.id;
    item.contextValue = 'explanation';
    item.description = tally(explanation);
    item.tooltip = new vscode.MarkdownString().appendCodeblock(explanation.text, 'text');
    item.iconPath = new vscode.ThemeIcon(selected ? 'target' : 'bug');
    item.command = { title: 'Show Explanation', command: 'unsnarl.showExplanation', arguments: [explanation.id] };
    return item;
  }

  private stepItem(explanation: Explanation, step: Step, at: number): vscode.TreeItem {
    const item = new vscode.TreeItem(`${at + 1}. ${step.thread} ${step.effect}`);
    item.id = `${explanation.id}/${at}`;
    item.description = `${step.place.text}${step.note === '' ? '' : `   ← ${step.note}`}`;
    item.iconPath = new vscode.ThemeIcon(step.note === '' ? 'circle-small' : 'arrow-left');
    const location = explanation.stepLocations[at];
    if (location) {
      item.command = {
        title: 'Go to Step',
        command: 'vscode.open',
        arguments: [vscode.Uri.parse(location.uri), { selection: this.server.range(location.range) }],
      };
    } else {
      item.tooltip = 'The line has changed since the run.';
    }
    return item;
  }
}

/** How sure it is, in a word. */
export function tally(explanation: Explanation): string {
  const { confirmed } = explanation;
  if (explanation.certainty === 'confirmed' && confirmed) {
    return `fails ${confirmed.fails}/${confirmed.of_fails}, otherwise passes ${confirmed.passes}/${confirmed.of_passes}`;
  }
  return explanation.certainty;
}
