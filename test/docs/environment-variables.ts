import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** What people set a variable for. */
interface Variable {
  meaning: string;
  /** What holds without it. */
  without: string;
}

/** The variables that configure processes of Longhaul, by the process that reads them: a table for people alone. A test finds those that are missing. */
export const ENVIRONMENT: Readonly<Record<string, Readonly<Record<string, Variable>>>> = {
  'The Temporal server (client, worker, command line)': {
    TEMPORAL_ADDRESS: {
      meaning: 'the address of the Temporal server, `host:port`',
      without: 'the profile of the Temporal CLI, then `localhost:7233`',
    },
    TEMPORAL_NAMESPACE: { meaning: 'its namespace', without: 'the profile, then `default`' },
    TEMPORAL_CONFIG_FILE: { meaning: 'the file of profiles of the Temporal CLI', without: '`~/.config/temporalio/temporal.toml`' },
    TEMPORAL_PROFILE: { meaning: 'the profile of this file', without: '`default`' },
    TEMPORAL_API_KEY: { meaning: 'the API key of the connection: with one, TLS is on', without: 'the key of the profile' },
    TEMPORAL_TLS: { meaning: '`true` or `1`: TLS; any other value: no TLS', without: 'TLS if there is an API key or a setting of TLS' },
    TEMPORAL_TLS_CLIENT_CERT_PATH: { meaning: 'the file of the certificate of the client (mTLS)', without: 'the file of the profile' },
    TEMPORAL_TLS_CLIENT_CERT_DATA: { meaning: 'the certificate itself, as PEM', without: 'the certificate of the profile' },
    TEMPORAL_TLS_CLIENT_KEY_PATH: { meaning: 'the file of its private key', without: 'the file of the profile' },
    TEMPORAL_TLS_CLIENT_KEY_DATA: { meaning: 'the private key itself, as PEM', without: 'the key of the profile' },
    TEMPORAL_TLS_SERVER_CA_CERT_PATH: {
      meaning: 'the file with the certificate of the authority that signed the server certificate',
      without: 'the file of the profile, then the authorities that are trusted by default',
    },
    TEMPORAL_TLS_SERVER_CA_CERT_DATA: { meaning: 'that certificate itself, as PEM', without: 'the same' },
    TEMPORAL_TLS_SERVER_NAME: { meaning: 'the name in the certificate of the server', without: 'the name of the profile, then the host' },
    'TEMPORAL_GRPC_META_*': {
      meaning: 'a header of every call: `TEMPORAL_GRPC_META_X_TEAM=a` is `x-team: a`; an empty value removes the header of the profile',
      without: 'the headers of the profile',
    },
    TEMPORAL_CLI_PATH: {
      meaning: 'the program `temporal` that `longhaul dev` starts a server with',
      without: 'the one on the `PATH`, then one that is downloaded or built',
    },
    LONGHAUL_CACHE: { meaning: 'the folder where the Temporal CLI is kept', without: 'the cache of the user' },
    LONGHAUL_UI_URL: {
      meaning: 'the address of the Temporal UI, for links',
      without: 'the UI of a local server or of Temporal Cloud, if it is one',
    },
  },
  'Payloads (client, worker, command line)': {
    LONGHAUL_CODEC: {
      meaning: 'parts of the codec: `compression`, `compression=<bytes>`, `encryption`',
      without: 'no compression; encryption if there are keys',
    },
    LONGHAUL_ENCRYPTION_KEYS: {
      meaning: 'keys of AES-256-GCM, `id:base64` with commas between them; the first one encrypts ([codec.md](codec.md))',
      without: 'nothing is encrypted',
    },
    LONGHAUL_CODEC_TOKEN: {
      meaning: 'the token that callers of `longhaul codec-server` send',
      without: 'programs of this machine alone are answered',
    },
  },
  'Who acts (command line)': {
    LONGHAUL_TENANT: { meaning: 'the tenant of commands, as `--tenant`', without: 'runs of all tenants' },
    LONGHAUL_USER: { meaning: 'the user of commands, as `--user`', without: 'runs of all users' },
    LONGHAUL_USER_KEY: { meaning: 'the key that clients hash users with in search attributes', without: 'users are not hashed' },
  },
  'The HTTP service': {
    LONGHAUL_KEYS_FILE: { meaning: 'the file of API keys', without: '`./longhaul-keys.json`, if there is one' },
    LONGHAUL_OIDC_CLIENT_SECRET: {
      meaning: 'the client secret at the issuer for logins to Studio (`--oidc-client`)',
      without: 'the client has no secret: a code is exchanged with PKCE alone',
    },
    LONGHAUL_TOKEN_SECRET: {
      meaning: 'secrets of run tokens, with commas between them ([authentication.md](authentication.md))',
      without: 'no tokens are made',
    },
  },
  Models: {
    OPENAI_API_KEY: { meaning: 'the key of `openai()`', without: 'a call fails, unless the client has a key' },
    OPENAI_BASE_URL: { meaning: 'the address of `openai()`', without: 'the address of OpenAI' },
    LONGHAUL_FORBID_REAL_MODELS: {
      meaning: 'any value but `0` and `false`: calls of real models fail, as `forbidRealModels()` makes them',
      without: 'they are made',
    },
  },
  Logs: {
    LONGHAUL_LOG_LEVEL: { meaning: 'the lowest level that is written: `TRACE` to `OFF`', without: '`INFO`' },
    TEMPORAL_DEBUG: { meaning: "`1`, `t` or `true`: a worker for Temporal's debugger, as `debugMode`", without: 'as its options say' },
    LONGHAUL_LOG_FORMAT: { meaning: '`text`, or `json` for one object per line', without: '`text`' },
    NO_COLOR: { meaning: 'any value: no colors on a terminal', without: 'colors on a terminal that has them' },
  },
  'Traces and metrics (commands with `telemetry`)': {
    OTEL_SDK_DISABLED: { meaning: '`true`: neither traces nor metrics', without: 'as the others say' },
    OTEL_EXPORTER_OTLP_ENDPOINT: { meaning: 'the address that traces are sent to', without: 'no traces are sent' },
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: { meaning: 'the same for traces alone, with its path', without: 'the one above' },
    OTEL_EXPORTER_OTLP_HEADERS: { meaning: 'headers of these requests: `name=value`, with commas between them', without: 'none' },
    OTEL_EXPORTER_OTLP_TRACES_HEADERS: { meaning: 'the same for traces alone', without: 'the ones above' },
    OTEL_EXPORTER_OTLP_PROTOCOL: {
      meaning: '`http/protobuf` or `http/json`: the form of the traces. `grpc` is refused, unless an SDK sends them',
      without: 'JSON, and the binary form for a collector that refuses JSON',
    },
    OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: { meaning: 'the same for traces alone', without: 'the one above' },
    OTEL_TRACES_EXPORTER: { meaning: '`none`: no traces', without: 'traces, if there is an endpoint' },
    OTEL_TRACES_SAMPLER: {
      meaning: '`always_on`, `always_off` or `traceidratio`, also with `parentbased_`',
      without: 'what the options say, else all',
    },
    OTEL_TRACES_SAMPLER_ARG: { meaning: 'the part of the traces for `traceidratio`, from 0 to 1', without: '1' },
    OTEL_METRICS_EXPORTER: { meaning: '`prometheus`: a page of metrics', without: 'none' },
    OTEL_EXPORTER_PROMETHEUS_HOST: { meaning: 'the host of this page', without: '`localhost`' },
    OTEL_EXPORTER_PROMETHEUS_PORT: { meaning: 'its port', without: '`9464`' },
    OTEL_SERVICE_NAME: { meaning: 'the name of the service in traces and metrics', without: '`longhaul`' },
    OTEL_RESOURCE_ATTRIBUTES: { meaning: 'attributes of the resource: `name=value`, with commas between them', without: 'none' },
  },
};

/** Variables of the system, of the terminal and of Node, which are read as every program reads them, or which `longhaul doctor` only looks at. */
const OF_THE_SYSTEM = [
  'PATH',
  'TERM',
  'TMPDIR',
  'ALL_PROXY',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NODE_EXTRA_CA_CERTS',
  'NODE_OPTIONS',
  'NODE_USE_ENV_PROXY',
];

const NAME = /'((?:LONGHAUL|TEMPORAL|OTEL|OPENAI|NODE|HTTPS?|ALL)(?:_[A-Z]+)+|NO_COLOR|TERM|TMPDIR|PATH)'/g;

/** Returns the variables that the code names, each with its files. */
export function variablesInCode(): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const file of globSync('{src,worker,activities}/**/*.ts', { cwd: root }).toSorted()) {
    const names = new Set([...readFileSync(`${root}/${file}`, 'utf8').matchAll(NAME)].map(([, name = '']) => name));
    for (const name of names) if (!OF_THE_SYSTEM.includes(name)) found.set(name, [...(found.get(name) ?? []), file]);
  }
  return found;
}

/** Variables that Temporal reads into a profile, and that its connections do not use. */
const UNUSED = ['TEMPORAL_CODEC_ENDPOINT', 'TEMPORAL_CODEC_AUTH', 'TEMPORAL_TLS_DISABLE_HOST_VERIFICATION'];

/** Returns the variables that Temporal's package makes a connection from. */
export function variablesOfConnections(): string[] {
  const source = readFileSync(`${root}/node_modules/@temporalio/envconfig/lib/envconfig-toml.js`, 'utf8');
  const found = new Set([...source.matchAll(/'(TEMPORAL(?:_[A-Z]+)+_?)'/g)].map(([, name = '']) => name.replace(/_$/, '_*')));
  return [...found].filter((name) => !UNUSED.includes(name));
}
