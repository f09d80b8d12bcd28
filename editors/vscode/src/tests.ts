// Recorded commands in the Test Explorer: a test fails as long as one of its failing runs is kept. To run one is to record
// it again, to debug one is to follow its failing run.
import * as path from 'node:path';
import * as vscode from 'vscode';
import { type Explanation } from './protocol';
import { recordCommand } from './run';
import { type Server } from './server';

/** A recorded command: program, arguments and the folder that it ran in. */
interface Recorded {
  command: string[];
  directory: string;
}

const key = ({ command, directory }: Recorded): string => JSON.stringify([directory, ...command]);

/** The tests, as the server's explanations tell of them. */
class Tests implements vscode.Disposable {
  private readonly controller = vscode.tests.createTestController('unsnarl', 'unsnarl');
  private readonly recorded = new Map<string, Recorded>();
  private readonly explanations = new Map<string, Explanation[]>();
  private readonly listener: vscode.Disposable;
  /** What was told of last: states are set only when something has changed. */
  private told = '';

  constructor(private readonly server: Server) {
    const { Run, Debug } = vscode.TestRunProfileKind;
    this.controller.createRunProfile('Record', Run, (request, token) => this.record(request, token), true);
    this.controller.createRunProfile('Debug the Failing Run', Debug, (request) => this.debug(request), true);
    this.controller.refreshHandler = () => this.refresh();
    this.listener = server.onDidChange(() => void this.refresh());
  }

  dispose(): void {
    this.listener.dispose();
    this.controller.dispose();
  }

  private async refresh(): Promise<void> {
    const { explanations } = await this.server.explanations();
    this.explanations.clear();
    for (const explanation of explanations.filter((one) => one.command.length > 0)) {
      this.recorded.set(key(explanation), { command: explanation.command, directory: explanation.directory });
      const own = this.explanations.get(key(explanation)) ?? [];
      this.explanations.set(key(explanation), [...own, explanation]);
    }
    this.controller.items.replace([...this.recorded].map(([id, recorded]) => this.item(id, recorded)));
    const now = JSON.stringify([...this.explanations].map(([id, own]) => [id, own.map((one) => [one.id, one.certainty])]));
    if (now !== this.told) {
      this.told = now;
      this.tellFailures();
    }
  }

  private item(id: string, { command, directory }: Recorded): vscode.TestItem {
    const [program, ...words] = command;
    const label = [path.basename(program ?? ''), ...words].join(' ');
    // Without a place: a test that has one draws its mark and its message over the steps and conditions of that line.
    const item = this.controller.createTestItem(id, label);
    const folder = vscode.workspace.asRelativePath(directory);
    // A workspace folder is no part of itself, so it stays whole.
    if (folder !== directory) {
      item.description = folder;
    }
    return item;
  }

  /** Shows the tests as failed of which failing runs are explained. */
  private tellFailures(): void {
    const run = this.controller.createTestRun(new vscode.TestRunRequest(), 'recorded runs', false);
    for (const id of this.explanations.keys()) {
      const item = this.controller.items.get(id);
      if (item !== undefined) {
        run.failed(item, this.messages(id));
      }
    }
    run.end();
  }

  /** What failed, an explanation each. */
  private messages(id: string): vscode.TestMessage[] {
    return (this.explanations.get(id) ?? []).map((explanation) => new vscode.TestMessage(explanation.text));
  }

  private async record(request: vscode.TestRunRequest, token: vscode.CancellationToken): Promise<void> {
    const run = this.controller.createTestRun(request);
    for (const item of this.asked(request)) {
      const recorded = this.recorded.get(item.id);
      if (recorded === undefined || token.isCancellationRequested) {
        run.skipped(item);
        continue;
      }
      run.started(item);
      const status = await recordCommand(recorded.command, recorded.directory, token);
      await this.tell(run, item, status);
    }
    run.end();
  }

  /** Tells how recording has ended: 0 is that every run passed, 1 that some failed. */
  private async tell(run: vscode.TestRun, item: vscode.TestItem, status: number | undefined): Promise<void> {
    if (status === 0) {
      run.passed(item);
    } else if (status === 1) {
      await this.server.explained();
      await this.refresh();
      const messages = this.messages(item.id);
      run.failed(item, messages.length > 0 ? messages : [new vscode.TestMessage('Some runs failed; nothing explains them yet.')]);
    } else if (status === undefined) {
      run.skipped(item);
    } else {
      run.errored(item, new vscode.TestMessage('The program could not be recorded; the terminal says why.'));
    }
  }

  private async debug(request: vscode.TestRunRequest): Promise<void> {
    const [item] = this.asked(request);
    const explanation = item && this.explanations.get(item.id)?.[0];
    if (explanation === undefined) {
      void vscode.window.showInformationMessage('unsnarl: this program has no failing run to debug; record it first.');
      return;
    }
    await vscode.commands.executeCommand('unsnarl.debugRun', explanation.id);
  }

  private asked({ include, exclude }: vscode.TestRunRequest): vscode.TestItem[] {
    const all = include ?? [...this.controller.items].map(([, item]) => item);
    return all.filter((item) => !exclude?.includes(item));
  }
}

export function tests(server: Server): vscode.Disposable {
  return new Tests(server);
}
