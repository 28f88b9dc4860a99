import { defineCommand, flag, type FlagsOf, offSwitch, option } from './define-command.ts';
import { COMMON, HTTP_OPTIONS, LOG_OPTIONS, port, repeatable, seconds, VERSIONING_OPTIONS } from './options.ts';

const AGENTS_HELP = `The agents module exports "agents" (a list made with defineAgent), or agents under any name, or a list as default.
Programs (made with defineProgram) are found in the same way, with "programs" as the list; "tools", "anchors" and "memory"
are there for them. It may also export "providers" (model clients by name) and "resources" (objects for your tools).
Without "providers" there is one, "openai", which uses OPENAI_API_KEY and OPENAI_BASE_URL.`;

export const DEV = defineCommand({
  name: 'dev',
  summary: 'run a local Temporal server and a worker',
  description:
    'Finds or provides a local Temporal server, starts it with its UI, and starts a worker with your agents and programs,\n' +
    'which also answers HTTP requests about their runs (docs/http.md), on this machine alone.\n' +
    'Ctrl-C drains the worker, then ends the server; a second Ctrl-C ends both at once.',
  options: {
    ...LOG_OPTIONS,
    agents: option('<module>', 'the module of your agents; without it only the server runs', { short: 'a' }),
    workflows: COMMON.workflows,
    watch: flag('restart the worker when a file next to those modules changes; the server and its runs stay', {
      manual:
        'Watched are the folders of those modules and what is below, without `node_modules`. The old worker finishes its calls and takes nothing new, and runs continue with the new code. If a file has an error, it is printed, and the next change starts the worker. The HTTP service restarts with it, at the same port: streams are cut, and continue behind their cursors',
    }),
    port: option('<port>', "the server's port (default: 7233, or a free one if that is taken)", { read: port }),
    uiPort: option('<port>', 'the port of the Temporal UI (default: 8233, or a free one)', { read: port }),
    db: option('<file>', 'keep runs in this file (default: .longhaul/dev.db, which is deleted to begin anew)'),
    memory: flag('keep runs in memory alone: they are gone when the server ends'),
    httpPort: option('<port>', 'the port of the HTTP service of the worker (default: 8787, or a free one)', { read: port }),
    http: offSwitch('no HTTP service'),
    grace: option('<seconds>', 'how long calls in flight may continue after Ctrl-C (default: 10)', { read: seconds }),
  },
  notes: AGENTS_HELP,
});
export type DevFlags = FlagsOf<typeof DEV>;

export const WORKER = defineCommand({
  name: 'worker',
  summary: 'run a worker with your agents',
  description:
    'Runs your agents on an existing Temporal server. SIGTERM or Ctrl-C drains the worker: it takes no new tasks,\n' +
    'and calls in flight finish within the grace time, or are handed to another worker.',
  options: {
    ...LOG_OPTIONS,
    agents: COMMON.agents,
    workflows: COMMON.workflows,
    grace: option('<seconds>', 'how long calls in flight may continue after SIGTERM (default: 300)', { read: seconds }),
    ...VERSIONING_OPTIONS,
  },
  notes: AGENTS_HELP,
});
export type WorkerFlags = FlagsOf<typeof WORKER>;

export const SERVE = defineCommand({
  name: 'serve',
  summary: 'serve runs over HTTP',
  description:
    'Answers HTTP requests about runs, sessions, programs and approvals (docs/http.md). With --agents, a worker runs inside,\n' +
    'unless --no-worker leaves that to others: the service then has the agents, the sink of streams and the stores of the module.\n' +
    'SIGTERM: it is not ready, and takes requests for the drain time; then streams are cut, which continue at another instance,\n' +
    'requests finish within the grace time, and the worker drains.',
  options: {
    ...LOG_OPTIONS,
    agents: option('<module>', 'the module of your agents; without it, other workers run what is started', {
      short: 'a',
      manual:
        'The service exports and deletes with the `payloadStore` and the `archive` of the module, and streams by its `streams`; without one, and with a worker inside, by `memoryStreams()`',
    }),
    worker: offSwitch('no worker inside: other ones have the agents of the module', {
      manual: 'Give the module a sink that reaches other processes: [`redisStreams` or `heartbeatStreams`](streams.md#sinks)',
    }),
    workflows: COMMON.workflows,
    host: option('<address>', 'the address to listen on (default: 127.0.0.1)'),
    port: option('<port>', 'the port to listen on (default: 8787)', { read: port }),
    keys: option('<file>', 'the file of the API keys (default: LONGHAUL_KEYS_FILE, or ./longhaul-keys.json if there is one)'),
    jwtIssuer: option('<url>', 'the issuer of the JSON Web Tokens of callers', {
      manual: '[Tokens](authentication.md#json-web-tokens-and-openid-connect)',
    }),
    jwtAudience: option('<text>', 'the audience of those tokens'),
    jwksUrl: option('<url>', 'the public keys of the issuer (default: where its discovery document says)'),
    prefix: option('<path>', 'the path before every route, such as /api'),
    drain: option('<seconds>', 'how long it still takes requests after SIGTERM, while it is not ready (default: 5)', {
      read: seconds,
      manual: 'After Ctrl-C not at all',
    }),
    grace: option('<seconds>', 'how long requests, and then calls in flight, may continue (default: 30)', { read: seconds }),
    ...HTTP_OPTIONS,
  },
  notes: AGENTS_HELP,
});
export type ServeFlags = FlagsOf<typeof SERVE>;

export const CODEC_SERVER = defineCommand({
  name: 'codec-server',
  summary: 'let the Temporal UI and CLI show clear text',
  description:
    'Encodes and decodes payloads over HTTP for the Temporal UI and CLI, with the keys in LONGHAUL_ENCRYPTION_KEYS.\n' +
    'If LONGHAUL_CODEC_TOKEN is set, callers must send it as "Authorization: Bearer <token>".',
  options: {
    host: option('<address>', 'the address to listen on; one that other machines reach needs a token (default: 127.0.0.1)'),
    port: option('<port>', 'the port to listen on (default: 8234)', { read: port }),
    allowOrigin: option('<origin>', 'the origin of the Temporal UI, such as https://temporal.example; may be repeated', {
      read: repeatable,
      manual: 'Default: `http://localhost:8233` and `http://127.0.0.1:8233`',
    }),
  },
  notes: 'Without --allow-origin, pages of http://localhost:8233 and http://127.0.0.1:8233 may call it.',
});
export type CodecServerFlags = FlagsOf<typeof CODEC_SERVER>;
