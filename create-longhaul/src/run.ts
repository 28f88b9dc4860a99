import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { checkNode, chosen, PACKAGE_MANAGERS, type PackageManager, PROVIDERS, TEMPLATES, UsageError } from './choices.ts';
import { createProject, undoFor } from './create.ts';
import { callsOf } from './templates.ts';

/** Everything that the program uses of its process, so that tests can replace it. */
export interface Surroundings {
  env: NodeJS.ProcessEnv;
  nodeVersion: string;
  signal: AbortSignal;
  /** Asks at the terminal; undefined where nobody types. */
  ask: ((question: string) => Promise<string>) | undefined;
  out: (line: string) => void;
  err: (line: string) => void;
}

const USAGE = `npm create longhaul@latest [folder] -- [options]

  --template <name>         ${TEMPLATES.join(', ')} (default: basic)
  --provider <name>         ${PROVIDERS.join(', ')} (default: scripted, which needs no key)
  --package-manager <name>  ${PACKAGE_MANAGERS.join(', ')} (default: the one that has started this)
  --no-install              write the files alone
  --no-git                  make no repository
  --yes                     take the defaults, and ask nothing
  --help                    print this`;

const OPTIONS = {
  template: { type: 'string' },
  provider: { type: 'string' },
  'package-manager': { type: 'string' },
  install: { type: 'boolean', default: true },
  git: { type: 'boolean', default: true },
  yes: { type: 'boolean', short: 'y', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const;

/** Runs the program, and returns its exit code: 0, 1 if the installation failed, 2 for a wrong command line, 130 after Ctrl-C. */
export async function run(args: readonly string[], around: Surroundings): Promise<number> {
  try {
    return await create(args, around);
  } catch (error) {
    if (around.signal.aborted) return 130;
    around.err(`create-longhaul: ${error instanceof Error ? error.message : String(error)}`);
    return error instanceof UsageError ? 2 : 1;
  }
}

async function create(args: readonly string[], around: Surroundings): Promise<number> {
  const { values, folder } = parsed(args);
  if (values.help) {
    around.out(USAGE);
    return 0;
  }
  checkNode(around.nodeVersion);
  const ask = values.yes ? undefined : around.ask;
  const asked = async (question: string, otherwise: string): Promise<string> =>
    (await ask?.(`${question} (${otherwise}): `))?.trim() || otherwise;
  const name = folder ?? (await asked('Folder', 'my-agent'));
  const template = chosen('template', values.template ?? (await asked(`Template: ${TEMPLATES.join(', ')}`, 'basic')), TEMPLATES);
  const provider = chosen('provider', values.provider ?? (await asked(`Provider: ${PROVIDERS.join(', ')}`, 'scripted')), PROVIDERS);
  const packageManager = chosen('package manager', values['package-manager'] ?? startedBy(around.env), PACKAGE_MANAGERS);
  const undo = await undoFor(resolve(name));
  const files = await createProject(name, { template, provider, packageManager }, around.signal);
  around.out(`Wrote ${files.length} files to ${name}.`);
  const inFolder = { cwd: resolve(name), signal: around.signal };
  try {
    if (values.git) await command('git', ['init', '--quiet'], inFolder).catch(() => undefined);
    around.signal.throwIfAborted();
    if (values.install) await install(packageManager, name, inFolder);
  } catch (error) {
    // An interrupted run leaves nothing, and does not change existing files.
    if (around.signal.aborted) await undo();
    throw error;
  }
  around.out(nextSteps({ name, packageManager, isInstalled: values.install }));
  return 0;
}

function parsed(args: readonly string[]): { values: ReturnType<typeof parse>['values']; folder: string | undefined } {
  try {
    const { values, positionals } = parse(args);
    // What follows bare dashes is a name of a folder for every program. Npm takes the dashes for itself.
    if (positionals.some((one) => one.startsWith('-')))
      throw new UsageError('Leave out the bare dashes, which npm alone needs, as in: pnpm create longhaul my-agent --template basic');
    if (positionals.length > 1) {
      throw new UsageError(
        `There is one folder too many: ${positionals.map((one) => `"${one}"`).join(', ')}. PowerShell drops the names of options behind ` +
          `bare dashes: there, put them in quotes, as in: npm create longhaul my-agent '--' --template basic`,
      );
    }
    return { values, folder: positionals[0] };
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(`${error instanceof Error ? error.message : String(error)} Add --help to see the options.`);
  }
}

function parse(args: readonly string[]) {
  return parseArgs({ args: [...args], options: OPTIONS, allowPositionals: true, allowNegative: true });
}

/** The package manager that has started this program names itself in a variable. */
function startedBy(env: NodeJS.ProcessEnv): string {
  const [name = ''] = (env['npm_config_user_agent'] ?? '').split('/');
  return PACKAGE_MANAGERS.includes(name as PackageManager) ? name : 'npm';
}

async function install(packageManager: PackageManager, folder: string, where: Place): Promise<void> {
  const quiet = packageManager === 'npm' ? ['--no-audit', '--no-fund'] : [];
  try {
    await command(packageManager, ['install', ...quiet], where);
  } catch (error) {
    throw new Error(`${packageManager} could not install the packages: run "${packageManager} install" in ${folder}`, { cause: error });
  }
}

interface Place {
  cwd: string;
  signal: AbortSignal;
}

function command(program: string, args: readonly string[], { cwd, signal }: Place): Promise<void> {
  return new Promise((done, failed) => {
    const child = spawn(program, args, { cwd, signal, stdio: ['ignore', 'inherit', 'inherit'], shell: process.platform === 'win32' });
    // A process that is being stopped still writes until it has ended.
    child.on('error', (error) => (signal.aborted && child.pid !== undefined ? undefined : failed(error)));
    child.on('close', (code) => (code === 0 ? done() : failed(new Error(`"${program} ${args.join(' ')}" ended with ${code}`))));
  });
}

function nextSteps({ name, packageManager, isInstalled }: { name: string; packageManager: PackageManager; isInstalled: boolean }): string {
  const steps = [`cd ${name}`, ...(isInstalled ? [] : [`${packageManager} install`]), `${callsOf(packageManager).run} dev`];
  return `\nNext:\n${steps.map((one) => `  ${one}`).join('\n')}\n\nREADME.md says how to ask the agent.`;
}
