// The language server as this extension sees it: started, restarted, asked.
import * as vscode from 'vscode';
import {
  type ClientCapabilities,
  type CodeAction,
  type FeatureState,
  LanguageClient,
  type LanguageClientOptions,
  type ServerOptions,
  State,
  type StaticFeature,
  TransportKind,
} from 'vscode-languageclient/node';
import { type Explanation, type Explanations, type Jump, type JumpParams, type Schedule, type Status } from './protocol';

/** Commands that the server may offer because this extension has them. */
const COMMANDS = ['unsnarl.showExplanation', 'unsnarl.nextStep', 'unsnarl.askSuppress', 'unsnarl.more', 'unsnarl.fixApplied'];
/** Those that run the program. */
const RUNNING = ['unsnarl.replay', 'unsnarl.debugRun', 'unsnarl.verify'];

/** Says what this client can do beyond the protocol. */
class Abilities implements StaticFeature {
  fillClientCapabilities(capabilities: ClientCapabilities): void {
    const experimental: object = capabilities.experimental ?? {};
    const trusted = vscode.workspace.isTrusted;
    const commands = trusted ? [...COMMANDS, ...RUNNING] : COMMANDS;
    capabilities.experimental = { ...experimental, unsnarl: { commands, status: true, asks: true, trusted } };
  }
  initialize(): void {}
  getState(): FeatureState {
    return { kind: 'static' };
  }
  clear(): void {}
}

/** What goes wrong is told once, by this extension: the library's own messages go to the log only. */
class QuietClient extends LanguageClient {
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

export class Server implements vscode.Disposable {
  private client: LanguageClient | undefined;
  private turn: Promise<void> = Promise.resolve();
  private readonly log = vscode.window.createOutputChannel('unsnarl', { log: true });
  private readonly changes = new vscode.EventEmitter<void>();
  /** Something else is known than before. */
  readonly onDidChange = this.changes.event;
  /** Why the server is not running; none while it is. */
  problem: string | undefined;

  /** One start after the other: settings may come while the first is on its way. */
  start(): Promise<void> {
    this.turn = this.turn.then(() => this.restart());
    return this.turn;
  }

  private async restart(): Promise<void> {
    await this.stop();
    this.problem = undefined;
    const client = new QuietClient('unsnarl', 'unsnarl', serverOptions(), this.clientOptions());
    client.registerFeature(new Abilities());
    this.client = client;
    client.onNotification('unsnarl/statusChanged', () => this.changes.fire());
    client.onDidChangeState(({ newState }) => this.stopped(client, newState));
    try {
      await client.start();
    } catch (error) {
      this.client = undefined;
      const reason = error instanceof Error ? error.message : String(error);
      this.problem = `cannot start "${binary()}": ${reason.includes('ENOENT') ? 'it is not there' : reason}`;
      void this.offerHelp(this.problem);
    }
    this.changes.fire();
  }

  /** A server that ends by itself is started again by the library, a few times. */
  private stopped(client: LanguageClient, state: State): void {
    if (this.client === client && state !== State.Starting) {
      this.problem = state === State.Stopped ? 'the server has ended; see the log' : undefined;
      this.changes.fire();
    }
  }

  async explanations(): Promise<Explanations> {
    return (await this.ask<Explanations>('unsnarl/explanations')) ?? { explanations: [], selected: null };
  }

  /** The selected explanation. Runs that were recorded just now are waited for, but not for ever. */
  async explained(): Promise<Explanation | undefined> {
    const patience = Date.now() + 5000;
    for (;;) {
      const [status, { explanations, selected }] = await Promise.all([this.status(), this.explanations()]);
      const explanation = explanations.find((one) => one.id === selected);
      const isDone = status === undefined || status.quiescent;
      if (isDone && (explanation !== undefined || Date.now() > patience)) {
        return explanation;
      }
      await this.nextChange(500);
    }
  }

  /** Waits until something else is known, at most some milliseconds. */
  private nextChange(most: number): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        listener.dispose();
        resolve();
      };
      const timer = setTimeout(done, most);
      const listener = this.onDidChange(done);
    });
  }

  async status(): Promise<Status | undefined> {
    return this.ask<Status>('unsnarl/status');
  }

  async jumps(params: JumpParams): Promise<Jump[]> {
    return (await this.ask<{ jumps: Jump[] }>('unsnarl/jumps', params))?.jumps ?? [];
  }

  async schedule(explanation: string): Promise<Schedule | undefined> {
    return (await this.ask<Schedule | null>('unsnarl/schedule', { explanation })) ?? undefined;
  }

  async select(explanation: string): Promise<void> {
    await this.ask('unsnarl/select', { explanation });
    this.changes.fire();
  }

  /** Code actions as the editor has them, from those of the protocol. */
  async actions(ofProtocol: CodeAction[]): Promise<vscode.CodeAction[]> {
    const all = (await this.client?.protocol2CodeConverter.asCodeActionResult(ofProtocol)) ?? [];
    return all.filter((one): one is vscode.CodeAction => one instanceof vscode.CodeAction);
  }

  showLog(): void {
    this.log.show();
  }

  range(range: { start: { line: number; character: number }; end: { line: number; character: number } }): vscode.Range {
    return new vscode.Range(range.start.line, range.start.character, range.end.line, range.end.character);
  }

  async dispose(): Promise<void> {
    await this.turn;
    await this.stop();
    this.log.dispose();
  }

  private async stop(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    try {
      await client?.dispose();
    } catch (error) {
      // A server that ended by itself cannot be stopped, and need not be.
      this.log.warn(String(error));
    }
  }

  private async ask<T>(method: string, params?: object): Promise<T | undefined> {
    if (this.client?.isRunning() !== true) {
      return undefined;
    }
    return params === undefined ? this.client.sendRequest<T>(method) : this.client.sendRequest<T>(method, params);
  }

  private clientOptions(): LanguageClientOptions {
    return {
      documentSelector: [
        { scheme: 'file', language: 'c' },
        { scheme: 'file', language: 'cpp' },
      ],
      outputChannel: this.log,
      initializationOptions: settings(),
      synchronize: { configurationSection: 'unsnarl' },
      middleware: {
        workspace: {
          // The server complains about names that are not its own.
          didChangeConfiguration: async (sections, next) => {
            void sections;
            void next;
            await this.client?.sendNotification('workspace/didChangeConfiguration', { settings: { unsnarl: settings() } });
          },
        },
      },
    };
  }

  private async offerHelp(problem: string): Promise<void> {
    const [settingsOf, log] = ['Open Settings', 'Show Log'];
    const choice = await vscode.window.showErrorMessage(
      `unsnarl: ${problem}. Install it with "cargo install --path cli" in its folder, or say where it is in the settings.`,
      settingsOf,
      log,
    );
    if (choice === settingsOf) {
      await vscode.commands.executeCommand('workbench.action.openSettings', 'unsnarl.server.path');
    } else if (choice === log) {
      this.showLog();
    }
  }
}

/** The unsnarl binary. */
export function binary(): string {
  return vscode.workspace.getConfiguration('unsnarl').get<string>('server.path') || 'unsnarl';
}

/** The settings that are the server's. */
function settings(): Record<string, unknown> {
  const own = Object.entries(vscode.workspace.getConfiguration('unsnarl'));
  const isServers = ([name, value]: [string, unknown]): boolean =>
    typeof value !== 'function' && name !== 'server' && name !== 'trace';
  return Object.fromEntries(own.filter(isServers));
}

function serverOptions(): ServerOptions {
  return { command: binary(), args: ['lsp'], transport: TransportKind.stdio };
}
