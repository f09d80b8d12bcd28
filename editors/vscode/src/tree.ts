// The view of all explanations, each with how it fails, its steps, its fixes, and what came of running it again.
import * as vscode from 'vscode';
import { type Explanation, type Fix, type Step } from './protocol';
import { type Server } from './server';

type Top = { explanation: Explanation; selected: boolean };
type StepNode = { explanation: Explanation; step: Step; at: number };
type FixNode = { explanation: Explanation; fix: Fix; at: number };
type Line = { explanation: Explanation; line: 'failure' | 'confirmation' };
type Node = Top | StepNode | FixNode | Line;

export class Tree implements vscode.TreeDataProvider<Node> {
  private readonly changes = new vscode.EventEmitter<void>();
  readonly onDidChangeTreeData = this.changes.event;

  constructor(private readonly server: Server) {}

  register(): vscode.Disposable {
    const view = vscode.window.createTreeView('unsnarl.explanations', { treeDataProvider: this, showCollapseAll: true });
    const refresh = this.server.onDidChange(() => this.changes.fire());
    return vscode.Disposable.from(view, refresh);
  }

  async getChildren(node?: Node): Promise<Node[]> {
    if (node === undefined) {
      const { explanations, selected } = await this.server.explanations();
      return explanations.map((explanation) => ({ explanation, selected: explanation.id === selected }));
    }
    return 'selected' in node ? children(node.explanation) : [];
  }

  getTreeItem(node: Node): vscode.TreeItem {
    if ('step' in node) {
      return this.stepItem(node);
    }
    if ('fix' in node) {
      return fixItem(node);
    }
    return 'line' in node ? this.lineItem(node) : explanationItem(node);
  }

  private lineItem({ explanation, line }: Line): vscode.TreeItem {
    const isFailure = line === 'failure';
    const item = new vscode.TreeItem(isFailure ? plain(explanation.failure.message) : sure(explanation));
    item.id = `${explanation.id}/${line}`;
    item.iconPath = new vscode.ThemeIcon(isFailure ? 'error' : explanation.certainty === 'confirmed' ? 'pass' : 'question');
    item.contextValue = line;
    if (isFailure) {
      item.description = `${explanation.runs.length} ${explanation.runs.length === 1 ? 'run' : 'runs'}`;
      item.command = this.open(explanation.failureLocation);
    } else if (explanation.certainty !== 'confirmed') {
      const { executed } = explanation;
      item.description = executed === null ? 'not run again yet' : plain(executed.reason);
      item.tooltip = executed === null ? 'Runs the failing order and another one again.' : plain(executed.next);
      if (executed === null) {
        item.command = { title: 'Confirm', command: 'unsnarl.confirm', arguments: [explanation.id] };
      }
    }
    return item;
  }

  private stepItem({ explanation, step, at }: StepNode): vscode.TreeItem {
    const item = new vscode.TreeItem(`${at + 1}. ${step.thread} ${plain(step.effect)}`);
    item.id = `${explanation.id}/${at}`;
    item.description = `${step.place.text}${step.note === '' ? '' : `   ← ${step.note}`}`;
    item.iconPath = new vscode.ThemeIcon(step.note === '' ? 'circle-small' : 'arrow-left');
    item.command = this.open(explanation.stepLocations[at] ?? null);
    if (item.command === undefined) {
      const isThere = !explanation.notFound.includes(step.place.file);
      item.tooltip = isThere
        ? 'The line has changed since the run.'
        : `${step.place.file} was not found; the setting "unsnarl.sourceMap" can say where it is.`;
    }
    return item;
  }

  private open(location: Explanation['failureLocation']): vscode.Command | undefined {
    const show = (to: NonNullable<typeof location>): vscode.Command => ({
      title: 'Go There',
      command: 'vscode.open',
      arguments: [vscode.Uri.parse(to.uri), { selection: this.server.range(to.range) }],
    });
    return location === null ? undefined : show(location);
  }
}

function children(explanation: Explanation): Node[] {
  const steps = explanation.steps.map((step, at) => ({ explanation, step, at }));
  const fixes = (explanation.fixes ?? []).map((fix, at) => ({ explanation, fix, at }));
  return [{ explanation, line: 'failure' }, ...steps, ...fixes, { explanation, line: 'confirmation' }];
}

function explanationItem({ explanation, selected }: Top): vscode.TreeItem {
  const state = selected ? vscode.TreeItemCollapsibleState.Expanded : vscode.TreeItemCollapsibleState.Collapsed;
  const item = new vscode.TreeItem(plain(explanation.headline), state);
  item.id = explanation.id;
  item.contextValue = 'explanation';
  item.description = explanation.label === null ? tally(explanation) : `${explanation.label}: ${tally(explanation)}`;
  item.tooltip = new vscode.MarkdownString().appendCodeblock(explanation.text, 'text');
  item.iconPath = new vscode.ThemeIcon(selected ? 'target' : 'bug');
  item.command = { title: 'Show Explanation', command: 'unsnarl.showExplanation', arguments: [explanation.id] };
  return item;
}

function fixItem({ explanation, fix, at }: FixNode): vscode.TreeItem {
  const item = new vscode.TreeItem(`Fix: ${plain(fix.title)}`);
  item.id = `${explanation.id}/fix/${at}`;
  item.contextValue = 'fix';
  item.description = plain(fix.cost);
  item.iconPath = new vscode.ThemeIcon('lightbulb');
  return item;
}

const plain = (text: string): string => text.replaceAll('`', '');

/** How sure it is, in a word, or how often it was seen. */
function sure(explanation: Explanation): string {
  const { confirmed } = explanation;
  if (explanation.certainty === 'confirmed' && confirmed) {
    return `fails ${confirmed.fails}/${confirmed.of_fails}, otherwise passes ${confirmed.passes}/${confirmed.of_passes}`;
  }
  return explanation.certainty;
}

/** The same where nothing else says that it was not tried. */
export function tally(explanation: Explanation): string {
  return `${sure(explanation)}${explanation.executed === null ? ', not run again yet' : ''}`;
}
