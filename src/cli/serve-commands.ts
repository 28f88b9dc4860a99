import { type Command, Option } from 'commander';
import type { RunCommand } from './command.ts';
import { addHttpOptions, addLogFlags, port, repeatable, seconds, VERSIONING_CHOICES } from './options.ts';
import type { CodecServerFlags } from './serve/codec-server.ts';
import type { DevFlags } from './serve/dev.ts';
import type { ServeFlags } from './serve/serve.ts';
import type { WorkerFlags } from './serve/worker.ts';

const AGENTS_HELP = `
The agents module exports "agents" (a list made with defineAgent), or agents under any name, or a list as default.
Programs (made with defineProgram) are found in the same way, with "programs" as the list; "tools", "anchors" and "memory"
are there for them. Beside them it may export "providers" (model clients by name) and "resources" (objects for your
tools). Without "providers" there is one, "openai", which uses OPENAI_API_KEY and OPENAI_BASE_URL.`;

/** Adds the commands that run until they are interrupted. */
export function addServeCommands(program: Command, run: RunCommand): void {
  addLogFlags(program.command('dev'))
    .summary('run a local Temporal server and a worker')
    .description(
      'Finds or provides a local Temporal server, starts it with its UI, and starts a worker with your agents and programs,\n' +
        'which also answers HTTP requests about their runs (docs/http.md), on this machine alone.\n' +
        'Ctrl-C drains the worker, then ends the server; a second Ctrl-C ends both at once.',
    )
    .option('-a, --agents <module>', 'the module of your agents; without it only the server runs')
    .option('-w, --workflows <module>', 'the module of your own workflows, which the worker runs too')
    .option('--watch', 'restart the worker when a file beside those modules changes; the server and its runs stay')
    .option('--port <port>', "the server's port (default: 7233, or a free one if that is taken)", port)
    .option('--ui-port <port>', 'the port of the Temporal UI (default: 8233, or a free one)', port)
    .option('--db <file>', 'keep runs in this file (default: .longhaul/dev.db, which is deleted to begin anew)')
    .option('--memory', 'keep runs in memory alone: they are gone when the server ends')
    .option('--http-port <port>', 'the port of the HTTP service of the worker (default: 8787, or a free one)', port)
    .option('--no-http', 'no HTTP service')
    .option('--grace <seconds>', 'how long calls in flight may go on after Ctrl-C (default: 10)', seconds)
    .addHelpText('after', AGENTS_HELP)
    .action(async (_options: unknown, command: Command) => {
      await run(async () => (await import('./serve/dev.ts')).dev, command.optsWithGlobals<DevFlags>());
    });
  addWorker(program, run);
  addServe(program, run);
  addCodecServer(program, run);
}

function addServe(program: Command, run: RunCommand): void {
  const serve = addLogFlags(program.command('serve'))
    .summary('serve runs over HTTP')
    .description(
      'Answers HTTP requests about runs, sessions, programs and approvals (docs/http.md). With --agents, a worker runs inside,\n' +
        'unless --no-worker leaves that to others: the service then has the agents, the sink of streams and the stores of the module.\n' +
        'SIGTERM: it is not ready and goes on for the drain time; then streams are cut, which go on at another instance,\n' +
        'requests finish within the grace time, and the worker drains.',
    )
    .option('-a, --agents <module>', 'the module of your agents; without it, other workers run what is started')
    .option('--no-worker', 'no worker inside: other ones have the agents of the module')
    .option('-w, --workflows <module>', 'the module of your own workflows, which the worker runs too')
    .option('--host <address>', 'the address to listen on (default: 127.0.0.1)')
    .option('--port <port>', 'the port to listen on (default: 8787)', port)
    .option('--keys <file>', 'the file of the API keys (default: LONGHAUL_KEYS_FILE, or ./longhaul-keys.json if there is one)')
    .option('--jwt-issuer <url>', 'the issuer of the JSON Web Tokens of callers')
    .option('--jwt-audience <text>', 'the audience of those tokens')
    .option('--jwks-url <url>', 'the public keys of the issuer (default: where its discovery document says)')
    .option('--prefix <path>', 'the path before every route, such as /api')
    .option('--drain <seconds>', 'how long it still takes requests after SIGTERM, while it is not ready (default: 5)', seconds)
    .option('--grace <seconds>', 'how long requests, and then calls in flight, may go on (default: 30)', seconds);
  addHttpOptions(serve)
    .addHelpText('after', AGENTS_HELP)
    .action(async (_options: unknown, command: Command) => {
      await run(async () => (await import('./serve/serve.ts')).serve, command.optsWithGlobals<ServeFlags>());
    });
}

function addWorker(program: Command, run: RunCommand): void {
  addLogFlags(program.command('worker'))
    .summary('run a worker with your agents')
    .description(
      'Runs your agents on an existing Temporal server. SIGTERM or Ctrl-C drains the worker: it takes no new tasks,\n' +
        'and calls in flight finish within the grace time, or are handed to another worker.',
    )
    .requiredOption('-a, --agents <module>', 'the module of your agents')
    .option('-w, --workflows <module>', 'the module of your own workflows, which the worker runs too')
    .option('--grace <seconds>', 'how long calls in flight may go on after SIGTERM (default: 300)', seconds)
    .option('--deployment <name>', 'the worker deployment that this worker is a build of')
    .option('--build-id <id>', 'the build, such as the commit')
    .addOption(
      new Option('--versioning <behavior>', 'the behavior of runs in flight when there is another build').choices(
        Object.keys(VERSIONING_CHOICES),
      ),
    )
    .addHelpText('after', AGENTS_HELP)
    .action(async (_options: unknown, command: Command) => {
      await run(async () => (await import('./serve/worker.ts')).worker, command.optsWithGlobals<WorkerFlags>());
    });
}

function addCodecServer(program: Command, run: RunCommand): void {
  program
    .command('codec-server')
    .summary('let the Temporal UI and CLI show clear text')
    .description(
      'Encodes and decodes payloads over HTTP for the Temporal UI and CLI, with the keys in LONGHAUL_ENCRYPTION_KEYS.\n' +
        'If LONGHAUL_CODEC_TOKEN is set, callers must send it as "Authorization: Bearer <token>".',
    )
    .option('--host <address>', 'the address to listen on; one that other machines reach needs a token (default: 127.0.0.1)')
    .option('--port <port>', 'the port to listen on (default: 8234)', port)
    .option('--allow-origin <origin>', 'the origin of the Temporal UI, such as https://temporal.example; may be repeated', repeatable)
    .addHelpText('after', '\nWithout --allow-origin, pages of http://localhost:8233 and http://127.0.0.1:8233 may call it.')
    .action(async (_options: unknown, command: Command) => {
      await run(async () => (await import('./serve/codec-server.ts')).codecServer, command.optsWithGlobals<CodecServerFlags>());
    });
}
