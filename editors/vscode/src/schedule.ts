// The view of one explanation: the order that failed, a lane for each thread. Clicking a step goes to its line.
import * as crypto from 'node:crypto';
import * as vscode from 'vscode';
import { go } from './jump';
import { type Explanation, type Step } from './protocol';
import { type Server } from './server';
import { tally } from './tree';

export class ScheduleView implements vscode.Disposable {
  private panel: vscode.WebviewPanel | undefined;
  private shown: string | undefined;
  private readonly subscriptions: vscode.Disposable[];

  constructor(
    private readonly server: Server,
    private readonly folder: vscode.Uri,
  ) {
    this.subscriptions = [
      vscode.commands.registerCommand('unsnarl.showExplanation', (id?: unknown) =>
        this.show(typeof id === 'string' ? id : undefined),
      ),
      server.onDidChange(() => void this.draw()),
      vscode.window.onDidChangeTextEditorSelection((event) => void this.follow(event)),
    ];
  }

  dispose(): void {
    this.panel?.dispose();
    vscode.Disposable.from(...this.subscriptions).dispose();
  }

  /** Shows an explanation, the selected one without an id, and makes its steps those at the ends of lines. */
  private async show(id: string | undefined): Promise<void> {
    const { explanations, selected } = await this.server.explanations();
    const explanation = explanations.find((one) => one.id === (id ?? selected));
    if (explanation === undefined) {
      const status = await this.server.status();
      void vscode.window.showInformationMessage(`unsnarl: ${status?.message ?? this.server.problem ?? 'nothing is explained'}`);
      return;
    }
    this.shown = explanation.id;
    if (explanation.id !== selected) {
      await this.server.select(explanation.id);
    }
    this.panel ??= this.open();
    this.panel.reveal(undefined, true);
    await this.draw();
  }

  private open(): vscode.WebviewPanel {
    const column = { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true };
    const media = vscode.Uri.joinPath(this.folder, 'media');
    const panel = vscode.window.createWebviewPanel('unsnarl.schedule', 'unsnarl', column, {
      enableScripts: true,
      localResourceRoots: [media],
    });
    panel.onDidDispose(() => (this.panel = undefined));
    panel.webview.onDidReceiveMessage((message: { step: number }) => void this.goTo(message.step));
    return panel;
  }

  private async current(): Promise<Explanation | undefined> {
    const { explanations } = await this.server.explanations();
    return explanations.find((one) => one.id === this.shown);
  }

  private async draw(): Promise<void> {
    if (this.panel === undefined) {
      return;
    }
    const explanation = await this.current();
    this.panel.title = 'unsnarl';
    this.panel.webview.html = page(this.panel.webview, this.folder, explanation);
  }

  private async goTo(at: number): Promise<void> {
    const explanation = await this.current();
    const location = explanation?.stepLocations[at];
    const step = explanation?.steps[at];
    if (location && step) {
      await go(this.server, location, `step ${at + 1}: ${step.thread} ${step.effect}`);
    }
  }

  /** Lights the steps of the line that the cursor is on. */
  private async follow(event: vscode.TextEditorSelectionChangeEvent): Promise<void> {
    if (this.panel?.visible !== true) {
      return;
    }
    const explanation = await this.current();
    const uri = event.textEditor.document.uri.toString();
    const line = event.textEditor.selection.active.line;
    const isHere = (at: number): boolean => {
      const location = explanation?.stepLocations[at];
      return location !== null && location?.uri === uri && location.range.start.line === line;
    };
    const here = (explanation?.steps ?? []).flatMap((_, at) => (isHere(at) ? [at] : []));
    await this.panel.webview.postMessage({ here });
  }
}

function page(webview: vscode.Webview, folder: vscode.Uri, explanation: Explanation | undefined): string {
  const file = (name: string): string => webview.asWebviewUri(vscode.Uri.joinPath(folder, 'media', name)).toString();
  const nonce = crypto.randomBytes(16).toString('base64');
  const body = explanation === undefined ? '<p>This failure is gone: no run shows it any more.</p>' : article(explanation);
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src ${webview.cspSource}; script-src 'nonce-${nonce}'">
<link rel="stylesheet" href="${file('schedule.css')}">
<title>unsnarl</title>
</head>
<body>
${body}
<script nonce="${nonce}" src="${file('schedule.js')}"></script>
</body>
</html>`;
}

function article(explanation: Explanation): string {
  const lines = [explanation.remark, explanation.contrast].filter((line) => line !== '');
  return `<h1>${prose(explanation.headline)}</h1>
<p class="failure">${prose(explanation.failure.message)} · ${prose(tally(explanation))}</p>
<p>${prose(explanation.detail)}</p>
${lanes(explanation)}
${lines.map((line) => `<p>${prose(line)}</p>`).join('\n')}`;
}

/** The steps downwards, a column for each thread. */
function lanes(explanation: Explanation): string {
  const threads = [...new Set(explanation.steps.map((step) => step.thread))].sort(byPlaceInTree);
  const heads = threads.map((thread) => `<th scope="col">${prose(inWords(explanation, thread))}</th>`).join('');
  const rows = explanation.steps.map((step, at) => {
    const cells = threads.map((thread) => (thread === step.thread ? cell(explanation, step, at) : '<td></td>'));
    return `<tr class="${rowClass(explanation, step, at)}"><th scope="row">${at + 1}</th>${cells.join('')}</tr>`;
  });
  return `<div class="lanes"><table><caption>The order that fails</caption><thead><tr><th></th>${heads}</tr></thead><tbody>
${rows.join('\n')}
</tbody></table></div>`;
}

function rowClass(explanation: Explanation, step: Step, at: number): string {
  if (step.note === 'in between' || step.note === 'too early') {
    return 'intrudes';
  }
  return at === explanation.steps.length - 1 ? 'last' : 'plain';
}

function cell(explanation: Explanation, step: Step, at: number): string {
  const file = step.place.file.split('/').at(-1) ?? '';
  const isGone = explanation.stepLocations[at] === null;
  const title = isGone ? ' title="the line has changed since the run" disabled' : '';
  const note = step.note === '' ? '' : ` <strong>${prose(step.note)}</strong>`;
  return `<td><button data-step="${at}"${title}><code>${escaped(step.place.text)}</code>
<span class="place">${escaped(file)}:${step.place.line}</span>
<span class="effect">${prose(step.effect)}</span>${note}</button></td>`;
}

/** `main.10` comes after `main.2`. */
function byPlaceInTree(a: string, b: string): number {
  return a.localeCompare(b, 'en', { numeric: true });
}

function inWords(explanation: Explanation, thread: string): string {
  return explanation.sites.find((site) => site.thread.endsWith(`(${thread})`))?.thread ?? thread;
}

/** A sentence; what stands in backticks is code. */
function prose(text: string): string {
  return escaped(text).replaceAll(/`([^`]*)`/g, '<code>$1</code>');
}

function escaped(text: string): string {
  const marks: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
  return text.replaceAll(/[&<>"]/g, (mark) => marks[mark] ?? mark);
}
