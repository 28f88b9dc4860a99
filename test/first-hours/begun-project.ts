import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { PackageManager, Provider, Template } from '../../create-longhaul/src/choices.ts';
import { freePorts } from '../../src/dev-server/start-flags.ts';
import type { LocalRegistry } from './local-registry.ts';
import { TOOLS } from './tools.ts';
import { TwoTerminals } from './two-terminals.ts';

/** What a project is begun with. */
export interface Beginning {
  folder: string;
  registry: LocalRegistry;
  template: Template;
  packageManager: Extract<PackageManager, 'npm' | 'pnpm'>;
  provider?: Provider;
  /** The Temporal server that `longhaul dev` finds. */
  server: { address: string; namespace: string };
}

/** What is said at the end of the first minutes, by the scripted model of the templates. */
export const ANSWER = 'Order 42 arrived broken.';
const PAID = 'Its price is paid back.';

const NAME = 'my-agent';

/** A project that a person begins with `npm create longhaul`, and what the person does with it. */
export class BegunProject implements AsyncDisposable {
  readonly path: string;
  readonly terminals: TwoTerminals;
  /** The commands up to the first answer. */
  readonly commands: string[] = [];
  readonly #beginning: Beginning;
  readonly #outside: TwoTerminals;
  readonly #ports: readonly number[];

  private constructor(beginning: Beginning, ports: readonly number[]) {
    this.#beginning = beginning;
    this.#ports = ports;
    const { folder, registry, server } = beginning;
    this.path = join(folder, NAME);
    const env = {
      ...registry.env,
      TEMPORAL_ADDRESS: server.address,
      TEMPORAL_NAMESPACE: server.namespace,
      PORT: String(ports[0]),
      NEXT_TELEMETRY_DISABLED: '1',
    };
    this.#outside = new TwoTerminals(folder, env);
    this.terminals = this.#outside.in(this.path);
  }

  static async begin(beginning: Beginning): Promise<BegunProject> {
    const project = new BegunProject(beginning, await freePorts([undefined]));
    const { template, packageManager, provider = 'scripted' } = beginning;
    const options = `--template ${template} --provider ${provider}`;
    // pnpm passes everything on; npm does so behind "--".
    const create =
      packageManager === 'npm'
        ? `npm create longhaul@latest ${NAME} -- ${options} --yes`
        : `pnpm create longhaul@latest ${NAME} ${options} --yes`;
    project.commands.push(create, `cd ${NAME}`);
    try {
      await project.#outside.run(create);
      return project;
    } catch (error) {
      await project[Symbol.asyncDispose]();
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // The terminals outside, too: they are of the same person.
    await this.terminals[Symbol.asyncDispose]();
  }

  /** The files that were written, without those of git and of the installation. */
  async files(): Promise<string[]> {
    const all = await readdir(this.path, { recursive: true, withFileTypes: true });
    return all
      .filter((one) => one.isFile())
      .map((one) => join(one.parentPath, one.name).slice(this.path.length + 1))
      .filter((file) => !/^(?:\.git|node_modules)\/|^(?:package-lock\.json|pnpm-lock\.yaml)$/.test(file))
      .toSorted();
  }

  /** Checks the types with the TypeScript of the project, and with the one before it. */
  async typecheck(): Promise<void> {
    await this.terminals.run(this.script('typecheck'));
    await this.terminals.run(`node ${TOOLS.typescript6}/lib/tsc.js --noEmit -p .`);
  }

  async test(): Promise<string> {
    return this.terminals.run(this.script('test'));
  }

  /** Starts the server and the worker, asks the agent as README.md says, and returns its answer. */
  async firstAnswer(): Promise<string> {
    this.commands.push(this.script('dev'));
    await this.terminals.open(this.script('dev'), 'Ctrl-C ends it');
    switch (this.#beginning.template) {
      case 'basic':
        return this.#ask(`${this.#exec} longhaul start clerk "Where is order 42?" --wait`);
      case 'existing-worker':
        await this.terminals.open(this.script('worker'), /RUNNING|running|Worker state changed/i);
        return this.#ask(`${this.#exec} longhaul start clerk "Where is order 42?" --wait`);
      case 'approvals':
        return this.#approved();
      case 'sessions':
        return this.#talked();
      case 'service':
        await this.terminals.open(this.script('service'), 'Listening on');
        return this.#overHttp(`http://127.0.0.1:${this.#ports[0]}`);
      case 'next':
        await this.terminals.open(this.script('web'), /Ready in/);
        return this.#overHttp(`http://127.0.0.1:${this.#ports[0]}/api`);
    }
  }

  /** Stops everything as a person does. */
  async stop(): Promise<void> {
    await this.terminals.pressCtrlC();
  }

  script(name: string): string {
    return this.#beginning.packageManager === 'npm' ? `npm run ${name}` : `pnpm ${name}`;
  }

  get #exec(): string {
    return this.#beginning.packageManager === 'npm' ? 'npx' : 'pnpm exec';
  }

  async #ask(command: string): Promise<string> {
    this.commands.push(command);
    return this.terminals.run(command);
  }

  async #approved(): Promise<string> {
    const run = `order-42-${this.#beginning.packageManager}`;
    await this.#ask(`${this.#exec} longhaul start clerk "Order 42 arrived broken" --run-id ${run}`);
    await this.terminals.runUntil(`${this.#exec} longhaul approvals`, run);
    await this.#ask(`${this.#exec} longhaul approve ${run}`);
    return this.#paid(await this.terminals.run(`${this.#exec} longhaul result ${run}`));
  }

  async #talked(): Promise<string> {
    const session = `talk-${this.#beginning.packageManager}`;
    const talk = this.#outside.in(this.path).run(`echo "Order 42 arrived broken" | ${this.#exec} longhaul chat clerk --session ${session}`);
    const failed = talk.then(
      () => undefined,
      (error: unknown) => error,
    );
    await this.terminals.runUntil(`${this.#exec} longhaul approvals`, session);
    await this.terminals.run(`${this.#exec} longhaul approve ${session}`);
    const error = await failed;
    if (error !== undefined) throw error;
    return this.#paid(await talk);
  }

  #paid(answer: string): string {
    if (!answer.includes(PAID)) throw new Error(`The refund that was approved is not paid:\n${answer}`);
    return answer;
  }

  async #overHttp(base: string): Promise<string> {
    const started = await fetch(`${base}/v1/runs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ agent: 'clerk', input: 'Where is order 42?' }),
    });
    if (started.status !== 201) throw new Error(`The service answers ${started.status}: ${await started.text()}`);
    const { runId } = (await started.json()) as { runId: string };
    for (;;) {
      const answer = await fetch(`${base}/v1/runs/${runId}/result`);
      // 202: the run has not ended yet, and the service has waited for as long as it does.
      if (answer.status !== 202) return answer.text();
    }
  }
}
