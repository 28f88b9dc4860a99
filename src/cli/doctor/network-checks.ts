import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { createCodecs } from '../../codec/with-codec.ts';
import { errorMessage } from '../../core/domain/errors.ts';
import { chosenCodec, encodes } from '../command.ts';
import { USUAL_CODEC_PORT, USUAL_ORIGINS } from '../serve/codec-server.ts';
import { checkKeysInUse } from './key-checks.ts';
import { type CheckGroup, type Examination, fail, type Finding, ok, pathWord, skipped, warn } from './examination.ts';

export const NETWORK_CHECKS: CheckGroup = {
  heading: 'Encryption and network',
  checks: [
    { name: 'codec', run: checkCodec },
    { name: 'codec-keys', run: checkKeysInUse },
    { name: 'codec-server', run: checkCodecServer },
    { name: 'ports', run: checkPorts },
    { name: 'proxy', run: checkProxy },
    { name: 'extra-certificates', run: checkCertificates },
  ],
};

/** A value that goes through the codec. */
const PROBE = { metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from('"longhaul doctor"') };

async function checkCodec({ flags, machine }: Examination): Promise<Finding> {
  try {
    const codec = chosenCodec(flags, machine.env);
    if (!encodes(codec)) return skipped('Payloads are neither encrypted nor compressed.');
    const codecs = createCodecs(codec);
    let payloads = [PROBE] as Parameters<(typeof codecs)[number]['encode']>[0];
    for (const one of codecs) payloads = await one.encode(payloads);
    for (const one of codecs.toReversed()) payloads = await one.decode(payloads);
    if (Buffer.from(payloads[0]?.data ?? '').toString() !== PROBE.data.toString())
      return fail('A payload that was encoded does not decode to the same value.', 'unset LONGHAUL_CODEC');
    return ok(
      codec.encryption === undefined ? 'Payloads are compressed.' : 'Payloads are encrypted, and decrypt with the keys of this process.',
    );
  } catch (error) {
    return fail(`${errorMessage(error).replace(/\.$/, '')}.`, 'export LONGHAUL_ENCRYPTION_KEYS=2026:$(openssl rand -base64 32)');
  }
}

const ANSWER_MS = 2_000;

/** Calls the codec server like a page of the Temporal UI: with its origin, first as a preflight, then with an encoded payload. */
async function checkCodecServer({ flags, machine }: Examination): Promise<Finding> {
  let codec: ReturnType<typeof chosenCodec>;
  try {
    codec = chosenCodec(flags, machine.env);
  } catch {
    return skipped('The codec cannot be used.');
  }
  if (!encodes(codec)) return skipped('The Temporal UI needs no codec server.');
  const endpoint = flags.codecEndpoint ?? `http://127.0.0.1:${USUAL_CODEC_PORT}`;
  const uiUrl = machine.env['LONGHAUL_UI_URL'];
  if (uiUrl && !URL.canParse(uiUrl)) return fail('LONGHAUL_UI_URL is not an address: write http://host:port.', 'unset LONGHAUL_UI_URL');
  const origin = uiUrl ? new URL(uiUrl).origin : (USUAL_ORIGINS[0] ?? '');
  const url = `${endpoint.replace(/\/$/, '')}/decode`;
  let preflight: Response;
  try {
    preflight = await fetch(url, {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'content-type' },
      signal: AbortSignal.timeout(ANSWER_MS),
    });
  } catch {
    const summary = `No codec server answers at ${endpoint}: the Temporal UI shows encoded payloads.`;
    return flags.codecEndpoint === undefined ? warn(summary, 'longhaul codec-server') : fail(summary, 'longhaul codec-server');
  }
  if (![origin, '*'].includes(preflight.headers.get('access-control-allow-origin') ?? '')) {
    return fail(
      `The codec server at ${endpoint} does not let pages of ${origin} call it (CORS).`,
      `longhaul codec-server --allow-origin ${origin}`,
    );
  }
  return decodesProbe({ url, endpoint, origin, codec, token: machine.env['LONGHAUL_CODEC_TOKEN'] });
}

interface CodecCall {
  url: string;
  endpoint: string;
  origin: string;
  codec: ReturnType<typeof chosenCodec>;
  token: string | undefined;
}

async function decodesProbe({ url, endpoint, origin, codec, token }: CodecCall): Promise<Finding> {
  let payloads = [PROBE] as Parameters<ReturnType<typeof createCodecs>[number]['encode']>[0];
  for (const one of createCodecs(codec)) payloads = await one.encode(payloads);
  const base64 = (bytes: Uint8Array | null | undefined): string => Buffer.from(bytes ?? []).toString('base64');
  const body = {
    payloads: payloads.map(({ metadata, data }) => ({
      metadata: Object.fromEntries(Object.entries(metadata ?? {}).map(([name, value]) => [name, base64(value)])),
      data: base64(data),
    })),
  };
  const response = await fetch(url, {
    method: 'POST',
    headers: { origin, 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(ANSWER_MS),
  });
  if (response.status === 401)
    return fail(
      `The codec server at ${endpoint} wants a token, and LONGHAUL_CODEC_TOKEN is not its token.`,
      'export LONGHAUL_CODEC_TOKEN=…',
    );
  if (!response.ok)
    return fail(
      `The codec server at ${endpoint} does not decode with the keys of this process (${response.status}).`,
      'longhaul codec-server',
    );
  const { payloads: [decoded] = [] } = (await response.json()) as { payloads?: { data?: string }[] };
  if (decoded?.data === base64(PROBE.data)) return ok(`The codec server at ${endpoint} decodes for pages of ${origin}.`);
  return fail(`The codec server at ${endpoint} has other keys than this process.`, 'longhaul codec-server');
}

/** Checks for ports in use: `longhaul dev` then takes others, which surprises people who look at the usual ones. */
async function checkPorts({ machine, server }: Examination): Promise<Finding> {
  // In parallel: an address that does not answer takes nearly all of a check's time.
  const [state, ...users] = await Promise.all([server, ...machine.ports.map(async (port) => ({ port, user: await userOf(port) }))]);
  const ownPorts = state.state === 'up' ? [Number(state.address.split(':').at(-1)), Number(state.address.split(':').at(-1)) + 1_000] : [];
  const foreign = users.filter(({ port, user }) => user !== undefined && !ownPorts.includes(port));
  if (foreign.length === 0) return ok(`The ports of "longhaul dev" are free, or are its own: ${machine.ports.join(', ')}.`);
  const others = foreign.filter(({ user }) => user === 'other').map(({ port }) => port);
  if (others.length === 0) return ok(`The ports ${foreign.map(({ port }) => port).join(', ')} are used by Longhaul.`);
  return warn(`Another program listens on port ${others.join(', ')}: "longhaul dev" takes a free one instead.`, `lsof -i :${others[0]}`);
}

/** Returns what listens on a port of this machine; undefined if it is free. */
async function userOf(port: number): Promise<'longhaul' | 'other' | undefined> {
  if (!(await isTaken(port))) return undefined;
  return (await isLonghaul(port)) ? 'longhaul' : 'other';
}

async function isTaken(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    const done = (taken: boolean): void => {
      socket.destroy();
      resolve(taken);
    };
    socket.setTimeout(500, () => done(true));
    socket.once('connect', () => done(true));
    socket.once('error', () => done(false));
  });
}

/** True if the HTTP service, the codec server or the UI of Temporal listens there. */
async function isLonghaul(port: number): Promise<boolean> {
  for (const path of ['/readyz', '/decode', '/api/v1/settings']) {
    try {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, { signal: AbortSignal.timeout(500) });
      const text = (await response.text()).slice(0, 500);
      if (path === '/readyz' && /"ready"|longhaul/.test(text)) return true;
      if (path === '/decode' && response.status === 405 && text.includes('send POST')) return true;
      if (path === '/api/v1/settings' && text.includes('DefaultNamespace')) return true;
    } catch {
      return false;
    }
  }
  return false;
}

/** The variables that calls to the Temporal server use: other programs read the ones in capital letters. */
const GRPC_PROXIES = ['grpc_proxy', 'https_proxy', 'http_proxy'];

const LOCAL = /^(?:localhost|127\.|\[::1\])/;

function checkProxy({ machine, flags }: Examination): Finding {
  const { env } = machine;
  const variables = ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy', 'ALL_PROXY', 'grpc_proxy'].filter((name) => env[name]);
  if (variables.length === 0) return skipped('No proxy is set.');
  const bad = variables.find((name) => !URL.canParse(env[name] ?? ''));
  if (bad !== undefined) return fail(`${bad} is not an address: write http://host:port.`, `unset ${bad}`);
  const address = flags.address ?? env['TEMPORAL_ADDRESS'] ?? 'localhost:7233';
  const followed = variables.filter((name) => GRPC_PROXIES.includes(name));
  const exempt = (env['no_grpc_proxy'] || env['no_proxy'] || '').split(',').map((one) => one.trim());
  if (followed.length > 0 && LOCAL.test(address) && !exempt.includes(address.replace(/:\d+$/, ''))) {
    return fail(
      `${followed.join(', ')} sends calls to the Temporal server at ${address} through a proxy.`,
      'export no_proxy="localhost,127.0.0.1,$no_proxy"',
    );
  }
  if (env['NODE_USE_ENV_PROXY'] !== '1') {
    return warn(`${variables.join(', ')} is set, and Node calls providers without it.`, 'export NODE_USE_ENV_PROXY=1');
  }
  return ok(`Calls use the proxy of ${variables.join(', ')}.`);
}

const PEM = { begin: '-----BEGIN CERTIFICATE-----', end: '-----END CERTIFICATE-----' };

/** Returns the certificates of a file, each with its first and last line. */
function certificatesIn(text: string): string[] {
  const parts = text.split(PEM.begin).slice(1);
  return parts.filter((part) => part.includes(PEM.end)).map((part) => PEM.begin + part.slice(0, part.indexOf(PEM.end)) + PEM.end);
}

/** Checks extra certificates: Node only prints a line about a file that it cannot use, which scrolls away. */
function checkCertificates({ machine }: Examination): Finding {
  const file = machine.env['NODE_EXTRA_CA_CERTS'];
  if (!file) return skipped('NODE_EXTRA_CA_CERTS is not set.');
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    return fail(`The file of NODE_EXTRA_CA_CERTS cannot be read: ${errorMessage(error)}.`, `ls -l ${pathWord(file)}`);
  }
  const blocks = certificatesIn(text);
  const now = Date.now();
  try {
    const certificates = blocks.map((block) => new X509Certificate(block));
    if (certificates.length === 0)
      return fail('The file of NODE_EXTRA_CA_CERTS has no certificate in PEM.', `openssl x509 -in ${pathWord(file)} -noout -dates`);
    // A system's bundle also has old certificates.
    if (certificates.every(({ validTo }) => Date.parse(validTo) < now)) {
      return fail('The certificates in the file of NODE_EXTRA_CA_CERTS have expired.', `openssl x509 -in ${pathWord(file)} -noout -dates`);
    }
    return ok(`NODE_EXTRA_CA_CERTS adds ${certificates.length} certificate${certificates.length === 1 ? '' : 's'}.`);
  } catch (error) {
    return fail(
      `A certificate in the file of NODE_EXTRA_CA_CERTS cannot be read: ${errorMessage(error)}.`,
      `openssl x509 -in ${pathWord(file)} -noout -dates`,
    );
  }
}
