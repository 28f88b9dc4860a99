import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { createProgram } from '../../src/cli/run-cli.ts';

const FOLDER = fileURLToPath(new URL('../../docs/deploy/', import.meta.url));

/** Seconds that calls have to react to being aborted at the end of the grace time. */
const FORCE_S = 30;

interface Probe {
  httpGet: { path: string; port: string };
}

interface Container {
  command: string[];
  args: string[];
  ports: { name: string; containerPort: number }[];
  startupProbe: Probe;
  readinessProbe: Probe;
  livenessProbe: Probe;
  resources: { requests: object; limits: object };
  securityContext: object;
  volumeMounts: { name: string; mountPath: string }[];
}

interface Manifest {
  kind: string;
  metadata: { name: string };
  spec: {
    selector: { app?: string; matchLabels?: { app: string } };
    template: {
      metadata: { labels: { app: string } };
      spec: { terminationGracePeriodSeconds: number; securityContext: object; containers: Container[]; volumes: { name: string }[] };
    };
  };
}

/** Parses a call of `longhaul` without running it. Returns the values of its options; throws for one that does not exist. */
async function optionsOf(args: readonly string[]): Promise<Record<string, unknown>> {
  const silent = { write: () => undefined };
  const program = createProgram(
    { env: {}, stdin: (async function* () {})(), stdout: silent, stderr: silent, signal: new AbortController().signal },
    () => undefined,
  );
  const command = program.commands.find((one) => one.name() === args[0]);
  if (command === undefined) throw new Error(`There is no command "${args[0]}"`);
  command.action(() => undefined);
  await program.parseAsync([...args], { from: 'user' });
  return command.opts();
}

const documents = parseAllDocuments(readFileSync(`${FOLDER}kubernetes.yaml`, 'utf8'));
const manifests = documents.map((one) => one.toJS() as Manifest);
const deployments = manifests.filter(({ kind }) => kind === 'Deployment');

describe.each(deployments.map((one): [string, Manifest] => [one.metadata.name, one]))('%s on Kubernetes', (_name, { spec }) => {
  const pod = spec.template.spec;
  const [container] = pod.containers;
  if (container === undefined) throw new Error('The pod has no container');

  test('is called with options that exist, and has more time to end than it takes', async () => {
    expect(container.command).toEqual(['node_modules/.bin/longhaul']);
    const options = await optionsOf(container.args);
    const seconds = (Number(options['grace']) + Number(options['drain'] ?? 0)) / 1_000;
    const isWorker = container.args[0] === 'worker';
    expect(seconds).toBeGreaterThanOrEqual(30);
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(seconds + (isWorker ? FORCE_S : 0));
    const [port] = container.ports;
    expect(port?.containerPort).toBe(Number(options[isWorker ? 'metricsPort' : 'port']));
    expect(options[isWorker ? 'metricsHost' : 'host']).toBe('0.0.0.0');
  });

  test('has probes at its own port, and is not killed because it is not ready', () => {
    const { startupProbe, readinessProbe, livenessProbe } = container;
    for (const { httpGet } of [startupProbe, readinessProbe, livenessProbe]) expect(httpGet.port).toBe(container.ports[0]?.name);
    expect(readinessProbe.httpGet.path).toBe('/readyz');
    expect(livenessProbe.httpGet.path).toBe(container.args[0] === 'worker' ? '/healthz' : '/livez');
  });

  test('runs without root and without a file system that it can write, and says what it needs', () => {
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    expect(container.resources).toMatchObject({
      requests: { cpu: expect.anything() as string },
      limits: { memory: expect.anything() as string },
    });
    expect(container.volumeMounts.map(({ name }) => name)).toEqual(pod.volumes.map(({ name }) => name));
  });

  test('has labels that its own selector finds', () => {
    expect(spec.selector.matchLabels).toEqual(spec.template.metadata.labels);
  });
});

test('the manifest is valid YAML', () => {
  expect(documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])).toEqual([]);
});

test('the service of Kubernetes selects the pods of the HTTP service', () => {
  expect(manifests.find(({ kind }) => kind === 'Service')?.spec.selector).toEqual({ app: 'longhaul-service' });
  expect(deployments.map(({ metadata }) => metadata.name)).toEqual(['longhaul-worker', 'longhaul-service']);
});

describe('the unit for systemd', () => {
  const unit = readFileSync(`${FOLDER}longhaul-worker.service`, 'utf8');
  const value = (name: string): string => new RegExp(`^${name}=(.*)$`, 'm').exec(unit)?.[1] ?? '';

  test('is called with options that exist, and has more time to end than it takes', async () => {
    const [program, ...args] = value('ExecStart').split(' ');
    expect(program).toBe('/srv/app/node_modules/.bin/longhaul');
    const { grace } = await optionsOf(args);
    expect(Number(value('TimeoutStopSec'))).toBeGreaterThan(Number(grace) / 1_000 + FORCE_S);
  });

  test('sends SIGTERM to the worker alone, starts it again, and runs it as a user in its folder', () => {
    expect(value('KillMode')).toBe('mixed');
    expect(value('Restart')).toBe('always');
    expect(value('User')).toBe('longhaul');
    expect(value('WorkingDirectory')).toBe('/srv/app');
    // Node compiles code at run time.
    expect(value('MemoryDenyWriteExecute')).toBe('');
  });

  test.skipIf(spawnSync('systemd-analyze', ['--version']).status !== 0)('has no line that systemd does not know', () => {
    const { stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', `${FOLDER}longhaul-worker.service`], { encoding: 'utf8' });
    expect(stderr.split('\n').filter((line) => /unknown|invalid|fail(?:ed)? to parse/i.test(line))).toEqual([]);
  });
});
