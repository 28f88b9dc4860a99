/** The type of a custom search attribute, in the words of the Temporal CLI. */
export type SearchAttributeType = 'Text' | 'Keyword' | 'Int' | 'Double' | 'Bool' | 'Datetime' | 'KeywordList';

/** What the flags of a dev server depend on. `uiPort` undefined means no UI, `dbFile` undefined means in memory, `uiCodecEndpoint` is where the UI has payloads decoded. */
export interface StartFlags {
  port: number;
  uiPort?: number | undefined;
  uiCodecEndpoint?: string | undefined;
  dbFile?: string | undefined;
  searchAttributes?: Readonly<Record<string, SearchAttributeType>> | undefined;
}

/** The address that every server of ours listens on: never reachable from another machine. */
export const SERVER_IP = '127.0.0.1';

/**
 * Without the poll rate, the one shard of a dev server reads its transfer queue 20 times a second, and each fast step of
 * a run waits 100 ms. Eager execution hands the next activity back with the answer of the workflow task.
 */
const TUNING = [
  'history.transferProcessorMaxPollRPS=5000',
  'system.enableActivityEagerExecution=true',
  'frontend.enableServerVersionCheck=false',
];

/** Runs survive the death of the process, not of the machine: 2 ms less a step than with a sync at every commit. */
const DATABASE_TUNING = ['journal_mode=WAL', 'synchronous=NORMAL'];

/** The arguments of the Temporal CLI for one tuned local server. */
export function startFlags(options: StartFlags): string[] {
  const ui = options.uiPort === undefined ? '--headless' : `--ui-port=${options.uiPort}`;
  const codec = options.uiCodecEndpoint === undefined ? [] : [`--ui-codec-endpoint=${options.uiCodecEndpoint}`];
  const database = options.dbFile === undefined ? [] : [`--db-filename=${options.dbFile}`, ...repeat('--sqlite-pragma', DATABASE_TUNING)];
  const attributes = Object.entries(options.searchAttributes ?? {}).map(([name, type]) => `${name}=${type}`);
  return [
    'server',
    'start-dev',
    '--log-level=error',
    `--ip=${SERVER_IP}`,
    `--port=${options.port}`,
    ui,
    ...codec,
    ...repeat('--dynamic-config-value', TUNING),
    ...database,
    ...repeat('--search-attribute', attributes),
  ];
}

/** Every flag that a server of ours may be started with: a CLI that cannot take these cannot be used. */
export function allStartFlags(): string[] {
  return [
    ...startFlags({
      port: 7233,
      uiPort: 8233,
      uiCodecEndpoint: 'http://127.0.0.1:8234',
      dbFile: 'probe.sqlite',
      searchAttributes: { Probe: 'Keyword' },
    }),
    '--headless',
  ];
}

/** The environment for a CLI: `TEMPORAL_*` variables would override flags or point it at another server. */
export function cliEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('TEMPORAL_')));
}

function repeat(flag: string, values: readonly string[]): string[] {
  return values.map((value) => `${flag}=${value}`);
}
