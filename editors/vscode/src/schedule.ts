// The view of one explanation: the order that fails beside one that passes. Clicking a step goes to its line, and the
// cursor's line lights its steps. What is drawn is in media/schedule.js.
import * as crypto from 'node:crypto';
import * as vscode from 'vscode';
import { go } from './jump';
import { type Explanation, type Schedule, type Taken } from './protocol';
import { type Server } from './server';
import { tally } from './tree';

/** What the page says. */
type Said = { ready: true } | { step: number; passing: boolean } | { run: 'verify' | 'applyFix' };

export class ScheduleView implements vscode.Disposable {
  private panel: vscode.WebviewPanel | undefined;
  /** Id of the explanation that is shown. */
  private shown: string | undefined;
  private schedule: Schedule | undefined;
  private readonly subscriptions: vscode.Disposable[];

  constructor(
    private readonly server: Server,
    private readonly folder: vscode.Uri,
  ) {
    this.subscriptions = [
      vscode.commands.registerCommand('unsnarl.showExplanation', (argument?: unknown) => this.show(idOf(argument))),
      server.onDidChange(() => void this.draw()),
      vscode.window.onDidChangeTextEditorSelection((event) => void this.follow(event.textEditor)),
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
    panel.webview.onDidReceiveMessage((said: Said) => void this.hear(said));
    panel.webview.html = page(panel.webview, media);
    return panel;
  }

  private async hear(said: Said): Promise<void> {
    if ('ready' in said) {
      await this.draw();
    } else if ('run' in said) {
      await vscode.commands.executeCommand(`unsnarl.${said.run}`, this.shown);
    } else {
      const order = said.passing ? this.schedule?.passing : this.schedule?.failing;
      const step = order?.steps.find((one) => one.number === said.step);
      if (step?.now) {
        await go(this.server, step.now, `step ${step.number}: ${this.inWords(step)}`);
      }
    }
  }

  private inWords(step: Taken): string {
    return `${this.schedule?.lanes[step.lane]?.thread ?? ''} ${step.effect}`;
  }

  private async draw(): Promise<void> {
    if (this.panel === undefined || this.shown === undefined) {
      return;
    }
    const { explanations } = await this.server.explanations();
    const explanation = explanations.find((one) => one.id === this.shown);
    this.schedule = explanation && (await this.server.schedule(explanation.id));
    await this.panel.webview.postMessage({ schedule: this.schedule ?? null, story: explanation && story(explanation) });
    await this.follow(vscode.window.activeTextEditor);
  }

  /** Lights the steps of the line that the cursor is on. */
  private async follow(editor: vscode.TextEditor | undefined): Promise<void> {
    if (this.panel?.visible !== true || editor === undefined) {
      return;
    }
    const uri = editor.document.uri.toString();
    const line = editor.selection.active.line;
    const steps = [...(this.schedule?.failing.steps ?? []), ...(this.schedule?.passing?.steps ?? [])];
    const here = steps.filter(({ now }) => now?.range.start.line === line && vscode.Uri.parse(now.uri).toString() === uri);
    await this.panel.webview.postMessage({ here: here.map((step) => step.number) });
  }
}

/** An explanation's id, a node of the tree that is about one, or nothing. */
export function idOf(argument: unknown): string | undefined {
  if (typeof argument === 'object' && argument !== null && 'explanation' in argument) {
    return (argument as { explanation: Explanation }).explanation.id;
  }
  return typeof argument === 'string' ? argument : undefined;
}

/** What is said around the two orders. */
function story(explanation: Explanation): object {
  return {
    headline: explanation.headline,
    failure: `${explanation.failure.message} · ${tally(explanation)}`,
    detail: explanation.detail.replaceAll('\n', ' '),
    lines: [explanation.remark, explanation.contrast].filter((line) => line !== ''),
    fixes: (explanation.fixes ?? []).map((fix) => fix.title),
    trusted: vscode.workspace.isTrusted,
  };
}

function page(webview: vscode.Webview, media: vscode.Uri): string {
  const file = (name: string): string => webview.asWebviewUri(vscode.Uri.joinPath(media, name)).toString();
  const nonce = crypto.randomBytes(16).toString('base64');
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src ${webview.cspSource}; script-src 'nonce-${nonce}'">
<link rel="stylesheet" href="${file('schedule.css')}">
<title>unsnarl</title>
</head>
<body>
<main id="view"></main>
<script nonce="${nonce}" src="${file('schedule.js')}"></script>
</body>
</html>`;
}
