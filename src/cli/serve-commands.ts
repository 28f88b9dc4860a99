import { defineCommand, flag, type FlagsOf, offSwitch, option } from './define-command.ts';
import {
  COMMON,
  HTTP_OPTIONS,
  LOG_OPTIONS,
  port,
  repeatable,
  seconds,
  SERVICE_METRICS_OPTIONS,
  VERSIONING_OPTIONS,
  WORKER_METRICS_OPTIONS,
} from './options.ts';

const AGENTS_HELP =
  'The agents module exports agents made with defineAgent: a list "agents", agents under any name, or a list as default. Programs made ' +
  'with defineProgram are found in the same way, in a list "programs" or under any name; "tools", "anchors" and "memory" are for them. ' +
  'The module may also export "providers" (model clients by name) and "resources" (objects for your tools). Without "providers" there ' +
  'is one, "openai", which uses OPENAI_API_KEY and OPENAI_BASE_URL.';

export const DEV = defineCommand({
  name: 'dev',
  summary: 'run a local Temporal server and a worker',
  description:
    'Finds or provides a local Temporal server, starts it with its UI, and starts a worker with your agents and programs, which also ' +
    'answers HTTP requests about their runs (docs/http.md), only on this machine. Ctrl-C drains the worker, then ends the server; a ' +
    'second Ctrl-C ends both at once.',
  options: {
    agents: option('<module>', 'the module of your agents; without it only the server runs', { short: 'a' }),
    workflows: COMMON.workflows,
    watch: flag('restart the worker when a code file in the folders of those modules changes; the server and its runs stay', {
      manual:
        'Folders below them count too, but `node_modules` does not. The old worker finishes its calls and takes nothing new, and runs continue with the new code. If a file has an error, it is printed, and the next change starts the worker. The HTTP service restarts with it, at the same port: streams are cut, and continue behind their cursors',
    }),
    port: option('<port>', "the server's port (default: 7233, or a free one if that is taken)", { read: port }),
    uiPort: option('<port>', 'the port of the Temporal UI (default: 8233, or a free one if that is taken)', { read: port }),
    db: option('<file>', 'keep runs in this file; delete it to start over (default: .longhaul/dev.db)'),
    memory: flag('keep runs in memory only: they are lost when the server ends'),
    httpPort: option('<port>', 'the port of the HTTP service of the worker (default: 8787, or a free one if that is taken)', {
      read: port,
    }),
    http: offSwitch('run no HTTP service'),
    grace: option('<seconds>', 'how long calls in flight may continue after Ctrl-C (default: 10)', { read: seconds }),
    ...LOG_OPTIONS,
  },
  notes: AGENTS_HELP,
});
export type DevFlags = FlagsOf<typeof DEV>;

export const WORKER = defineCommand({
  name: 'worker',
  summary: 'run a worker with your agents',
  description:
    'Runs your agents on an existing Temporal server. SIGTERM or Ctrl-C drains the worker: it takes no new tasks, and calls in flight ' +
    'finish within the grace time or are handed to another worker.',
  options: {
    agents: COMMON.agents,
    workflows: COMMON.workflows,
    grace: option('<seconds>', 'how long calls in flight may continue after SIGTERM or Ctrl-C (default: 300)', { read: seconds }),
    ...VERSIONING_OPTIONS,
    ...WORKER_METRICS_OPTIONS,
    ...LOG_OPTIONS,
  },
  notes: AGENTS_HELP,
});

export const SERVE = defineCommand({
  name: 'serve',
  summary: 'serve runs over HTTP',
  description:
    'Answers HTTP requests about runs, sessions, programs and approvals (docs/http.md). With --agents, a worker runs inside. With ' +
    '--no-worker as well, workers in other processes run what is started, and the service has the agents, the sink of streams and the ' +
    'stores of the module. After SIGTERM, the service still takes requests for the drain time, while /readyz answers 503. Then streams ' +
    'are cut, which continue at another instance, requests finish within the grace time, and the worker drains.',
  options: {
    agents: option('<module>', 'the module of your agents; without it, other workers run what is started', {
      short: 'a',
      manual:
        'The service exports and deletes with the `payloadStore` and the `archive` of the module, and streams by its `streams`; without one, and with a worker inside, by `memoryStreams()`',
    }),
    worker: offSwitch('run no worker inside: workers in other processes have the agents of the module', {
      manual: 'Give the module a sink that reaches other processes: [`redisStreams` or `heartbeatStreams`](streams.md#sinks)',
    }),
    workflows: COMMON.workflows,
    host: option('<address>', 'the address to listen on (default: 127.0.0.1)'),
    port: option('<port>', 'the port to listen on (default: 8787)', { read: port }),
    keys: option('<file>', 'the file of the API keys (default: LONGHAUL_KEYS_FILE, or ./longhaul-keys.json if there is one)'),
    jwtIssuer: option('<url>', 'the issuer of the JSON Web Tokens of callers', {
      manual: 'See [tokens](authentication.md#json-web-tokens-and-openid-connect)',
    }),
    jwtAudience: option('<text>', 'the audience of those tokens'),
    jwksUrl: option('<url>', 'the public keys of the issuer (default: where its discovery document says)'),
    oidcClient: option('<id>', 'the client id for logging in to Studio at that issuer', {
      manual: 'See [log-in](authentication.md#log-in-by-openid-connect)',
    }),
    oidcScope: option('<text>', 'what a log-in asks for (default: openid)'),
    prefix: option('<path>', 'the path before every route, such as /api'),
    studio: flag('serve Studio at /studio, a page to see runs and to decide', {
      manual: 'It asks its reader for an API key or a token, if the service verifies its callers ([studio.md](studio.md))',
    }),
    drain: option(
      '<seconds>',
      'how long it still takes requests and continues streams after SIGTERM, while /readyz answers 503 (default: 5)',
      { read: seconds, manual: 'After Ctrl-C not at all' },
    ),
    grace: option('<seconds>', 'how long requests, and then calls in flight, may continue (default: 30)', { read: seconds }),
    ...HTTP_OPTIONS,
    ...SERVICE_METRICS_OPTIONS,
    ...LOG_OPTIONS,
  },
  notes: AGENTS_HELP,
});

export const STUDIO = defineCommand({
  name: 'studio',
  summary: 'open Studio for a service elsewhere',
  description:
    'Serves Studio, the page to see runs and to decide, only on this machine, for a service of Longhaul elsewhere (docs/studio.md). The page ' +
    'asks for an API key or a token, and this command passes it on to that service and keeps none.',
  options: {
    url: option('<url>', 'the address of the service, with its prefix: https://agents.acme.example'),
    port: option('<port>', 'the port to listen on (default: 8788, or a free one if that is taken)', { read: port }),
  },
});

export const CODEC_SERVER = defineCommand({
  name: 'codec-server',
  summary: 'let the Temporal UI and CLI show clear text',
  description:
    'Encodes and decodes payloads over HTTP for the Temporal UI and CLI, with the keys in LONGHAUL_ENCRYPTION_KEYS. ' +
    'If LONGHAUL_CODEC_TOKEN is set, callers must send it as "Authorization: Bearer <token>".',
  options: {
    host: option('<address>', 'the address to listen on; one that other machines can reach needs a token (default: 127.0.0.1)'),
    port: option('<port>', 'the port to listen on (default: 8234)', { read: port }),
    allowOrigin: option(
      '<origin>',
      'the origin of the Temporal UI, such as https://temporal.example; may be repeated (default: http://localhost:8233 and http://127.0.0.1:8233)',
      { read: repeatable },
    ),
  },
});
