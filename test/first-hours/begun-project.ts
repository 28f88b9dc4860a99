import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import type { PackageManager, Provider, Template } from '../../create-longhaul/src/choices.ts';
import { freePorts } from '../../src/dev-server/start-flags.ts';
import { CHROMIUM } from '../site/built/built-site.ts';
import type { LocalRegistry } from './local-registry.ts';
import { TOOLS } from './tools.ts';
import { TwoTerminals } from './two-terminals.ts';

/** What README.md of a project says is to be typed, word for word. */
interface ProjectReadme {
  /** In the first terminal: it stays open. */
  dev: string;
  /** In a second one, where the project has a program besides: it stays open. */
  opened?: string;
  /** In the last one, commands in sequence. Empty if the question is asked elsewhere. */
  asked: string[];
  /** The page where the question is asked, if it names one. */
  page?: string;
  /** The scripts of its table. */
  scripts: string[];
}

/** Reads the commands of README.md in the folder of a project. */
async function readProjectReadme(folder: string): Promise<ProjectReadme> {
  const text = await readFile(join(folder, 'README.md'), 'utf8');
  const fences = [...text.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, commands = '']) => commands.trim());
  const [dev, ...others] = fences;
  if (dev === undefined || others.length === 0) throw new Error(`README.md does not say how to start and what to do then:\n${text}`);
  const [, page] = /open (http:\/\/localhost:\d+)/.exec(text) ?? [];
  // Where it has a third terminal or a page, the second one stays open as well.
  const opened = others.length > 1 || page !== undefined ? others.shift() : undefined;
  return {
    dev,
    ...(opened === undefined ? {} : { opened }),
    asked: others.flatMap((fence) => fence.split('\n')),
    ...(page === undefined ? {} : { page }),
    scripts: [...text.matchAll(/^\| `([^`]+)` \|/gm)].map(([, script = '']) => script),
  };
}

/** What a project is begun with. */
interface Beginning {
  folder: string;
  registry: LocalRegistry;
  template: Template;
  packageManager: Extract<PackageManager, 'npm' | 'pnpm'>;
  provider?: Provider;
  /** The Temporal server that `longhaul dev` finds. */
  server: { address: string; namespace: string };
}

/** The last text of the first minutes, from the scripted model of the templates. */
export const ANSWER = 'Order 42 arrived broken.';
const PAID = 'Its price is paid back.';

/** The port in the commands of README.md. Tests take a free one. */
const README_PORT = 3000;

/** What the program of the second terminal prints when it can be used. */
const READY = { service: 'Listening on', next: /Ready in/, 'existing-worker': /RUNNING/ } as const;

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
    // pnpm passes everything on; npm does so after "--".
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

  /** The written files, except the files of git and of the installation. */
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
    await this.terminals.run(await this.#script('typecheck'));
    await this.terminals.run(`node ${TOOLS.typescript6}/lib/tsc.js --noEmit -p .`);
  }

  async test(): Promise<string> {
    return this.terminals.run(await this.#script('test'));
  }

  /** Starts what README.md says, asks the agent as it says, word for word, and returns the answer. */
  async firstAnswer(): Promise<string> {
    const { dev, opened, asked, page } = await this.#readme();
    this.commands.push(dev);
    await this.terminals.open(dev, 'Ctrl-C ends it');
    const { template } = this.#beginning;
    if (opened !== undefined) {
      this.commands.push(opened);
      await this.terminals.open(opened, template in READY ? READY[template as keyof typeof READY] : '');
    }
    if (page !== undefined) return this.#askedOnPage(this.#atOwnPort(page));
    if (template === 'sessions') return this.#talked(asked);
    return this.#asked(asked);
  }

  /** Stops everything as a person does. */
  async stop(): Promise<void> {
    await this.terminals.pressCtrlC();
  }

  #readme(): Promise<ProjectReadme> {
    return readProjectReadme(this.path);
  }

  /** The command of a script, as the table of README.md has it. */
  async #script(name: string): Promise<string> {
    const { scripts } = await this.#readme();
    const found = scripts.find((script) => script.endsWith(` ${name}`));
    if (found === undefined) throw new Error(`README.md has no script "${name}", only: ${scripts.join(', ')}`);
    return found;
  }

  /** Runs the commands. The first one prints the id of the run. A command that waits for the run is read until it shows it. */
  async #asked(commands: readonly string[]): Promise<string> {
    let run = '';
    let printed = '';
    for (const [index, written] of commands.entries()) {
      const command = this.#atOwnPort(written.replaceAll('<run>', run));
      this.commands.push(command);
      const isLast = index === commands.length - 1;
      // The list of approvals is empty before the run waits, and a result over HTTP has no output before its end.
      const shown = command.endsWith(' approvals') ? run : isLast && index > 0 ? ANSWER : undefined;
      printed = await (shown === undefined ? this.terminals.run(command) : this.terminals.runUntil(command, shown));
      if (index === 0 && !isLast) run = runIdIn(printed);
    }
    if (commands.some((command) => command.includes(' approve ')) && !printed.includes(PAID))
      throw new Error(`The refund that was approved is not paid:\n${printed}`);
    return printed;
  }

  /** Talks on a terminal, as README.md says below the command. */
  async #talked([command = '']: readonly string[]): Promise<string> {
    this.commands.push(command);
    const text = await readFile(join(this.path, 'README.md'), 'utf8');
    const [, question = '', yes = '', leave = ''] = /Write `([^`]+)`, and `([^`]+)` when .+ `([^`]+)` leaves/.exec(text) ?? [];
    return this.terminals.talk(command, [
      { after: '> ', type: question },
      { after: 'Run it?', type: yes },
      { after: PAID, type: leave },
    ]);
  }

  /** Asks on the page as a person does. */
  async #askedOnPage(url: string): Promise<string> {
    const browser = await chromium.launch({ executablePath: CHROMIUM ?? '', args: ['--no-sandbox'] });
    try {
      const page = await browser.newPage();
      await page.goto(url, { timeout: 120_000 });
      await page.getByRole('button', { name: 'Ask' }).click();
      const answer = page.locator('p', { hasText: /\S/ });
      await answer.waitFor({ timeout: 120_000 });
      return (await answer.textContent()) ?? '';
    } finally {
      await browser.close();
    }
  }

  #atOwnPort(text: string): string {
    return text.replace(`localhost:${README_PORT}`, `localhost:${this.#ports[0]}`);
  }
}

/** Returns the id of a run: of JSON its field, otherwise the line that is one word, next to the address of the run. */
function runIdIn(printed: string): string {
  const [, id] = /"runId": ?"([^"]+)"/.exec(printed) ?? [];
  const found = id ?? printed.split('\n').find((line) => /^[\w-]+$/.test(line));
  if (found === undefined) throw new Error(`There is no id of a run in:\n${printed}`);
  return found;
}
