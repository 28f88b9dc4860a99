import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import type { ContentPart } from '../../src/core/domain/content.ts';
import type { ModelRequest, ModelResponse } from '../../src/core/domain/model.ts';
import type { ModelDelta } from '../../src/core/domain/stream.ts';
import { hosted } from '../../src/index.ts';
import { aiSdk } from '../../worker/index.ts';
import { FakeServer } from './fake-server.ts';
import type { Answer, Body } from './families.ts';
import { type Package, PACKAGES } from './packages.ts';

/** The outcome of a request: the sent body and the answer, or that the package has refused. */
interface Outcome {
  /** The body of the request; undefined if none was sent. */
  sent: string | undefined;
  response: ModelResponse | undefined;
  deltas: ModelDelta[];
}

/** A package, asked. */
type Ask = (answer: Answer, request?: Partial<ModelRequest>) => Promise<Outcome>;

/** A row of the table: a word for each package. */
interface Capability {
  title: string;
  word(ask: Ask, one: Package): Promise<string>;
}

const YES = 'yes';
const REFUSED = 'refused';
const NONE = '–';
const SAID: Answer = { parts: [{ text: 'Far.' }] };

const TOOL = {
  name: 'look_up',
  description: 'Looks something up.',
  parameters: { type: 'object', properties: { q: { type: 'string' } }, required: ['q'], additionalProperties: false },
  strict: false,
};
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';

/** Data that no request has otherwise. */
const DATA = 'SGVyZSBpcyBhIGZpbGUu';

const askedWith = (part: ContentPart): Partial<ModelRequest> => ({
  conversation: [{ author: 'user', content: [{ type: 'message', role: 'user', content: [part] }] }],
});

/** A row about a part of the message of the user: it was sent unchanged, or the package has refused it. */
function input(title: string, part: ContentPart, expected: string): Capability {
  return {
    title,
    word: async (ask) => {
      const { sent } = await ask(SAID, askedWith(part));
      if (sent === undefined) return REFUSED;
      return sent.includes(expected) ? YES : NONE;
    },
  };
}

/** The tool that a provider of each package runs by itself. */
const HOSTED: Partial<Record<string, Parameters<typeof hosted>>> = {
  anthropic: ['anthropic.web_search_20250305', {}],
  google: ['google.google_search', {}],
  openai: ['openai.web_search', {}],
  'amazon-bedrock': ['anthropic.web_search_20250305', {}],
};

const thinks = ({ name }: Package): ModelRequest['settings'] =>
  name === 'anthropic' ? { maxOutputTokens: 4_000, extra: { anthropic: { thinking: { type: 'enabled', budgetTokens: 1_024 } } } } : {};

const CAPABILITIES: readonly Capability[] = [
  {
    title: 'calls of tools, with their arguments',
    word: async (ask, { family }) => {
      const call = { call: 'look_up', id: family.id(1), input: '{"q":"the Moon"}' };
      const { response, deltas } = await ask({ parts: [call] }, { tools: [TOOL] });
      const pieces = deltas.filter((delta) => delta.type === 'tool_input' && delta.text !== '');
      if (response?.toolCalls.length !== 1) return NONE;
      return pieces.length > 1 ? 'streamed' : 'whole';
    },
  },
  input('image as data', { type: 'image', data: PNG }, PNG),
  input('PDF as data', { type: 'file', data: DATA, mediaType: 'application/pdf', name: 'bill.pdf' }, DATA),
  input('audio as data', { type: 'audio', data: DATA, mediaType: 'audio/wav' }, DATA),
  input('video as data', { type: 'video', data: DATA, mediaType: 'video/mp4' }, DATA),
  input('image by a URL of https', { type: 'image', url: 'https://pictures.example/a.png', mediaType: 'image/png' }, 'pictures.example'),
  {
    title: 'image out',
    word: async (ask) => ((await ask({ parts: [{ text: 'Look.' }, { image: PNG }] })).response?.files === undefined ? NONE : YES),
  },
  {
    title: 'reasoning that goes back',
    word: async (ask, one) => {
      const call = { call: 'look_up', id: one.family.id(1), input: '{"q":"the Moon"}' };
      const answer: Answer = { parts: [...(one.family.thinks ? [{ thinking: 'Hmm.' }] : []), call] };
      const { response } = await ask(answer, { tools: [TOOL], settings: thinks(one) });
      const items = (response?.providerItems ?? []) as { t: string; m?: object }[];
      const signed = items.filter(({ m }) => JSON.stringify(m ?? {}).includes('sig_')).map(({ t }) => t);
      if (signed.includes('reasoning')) return 'signed';
      if (signed.includes('call')) return 'signed calls';
      return items.some(({ t }) => t === 'reasoning') ? 'text' : NONE;
    },
  },
  {
    title: '`reasoningEffort`',
    word: async (ask) => {
      const plain = await ask(SAID, { settings: { maxOutputTokens: 4_000 } });
      const { sent, response } = await ask(SAID, { settings: { maxOutputTokens: 4_000, reasoningEffort: 'low' } });
      if (sent === undefined) return 'by `extra`';
      if (sent !== plain.sent) return YES;
      return response?.warnings === undefined ? NONE : 'ignored, with a warning';
    },
  },
  {
    title: 'schema of an answer',
    word: async (ask) => {
      const schema = { type: 'object' as const, properties: { km: { type: 'number' } }, required: ['km'], additionalProperties: false };
      const { sent, response } = await ask({ parts: [{ text: '{"km":1}' }] }, { output: { name: 'answer', schema, strict: true } });
      return sent?.includes('"km"') === true && response?.toolCalls.length === 0 ? YES : NONE;
    },
  },
  {
    title: 'hosted tools',
    word: async (ask, { name }) => {
      const tool = HOSTED[name];
      if (tool === undefined) return NONE;
      const { sent, response } = await ask(SAID, { hosted: [hosted(...tool)] });
      // A package may leave the tool out, which the client does not accept.
      if (response === undefined) return REFUSED;
      return /search/i.test(sent ?? '') ? `\`${tool[0]}\`` : NONE;
    },
  },
  {
    title: 'marks of a cache',
    word: async (ask) => (/cache_control|cachePoint/.test((await ask(SAID)).sent ?? '') ? YES : NONE),
  },
  {
    title: 'tokens of a cache',
    word: async (ask) => {
      const { cachedTokens, cacheWriteTokens } = (await ask(SAID)).response?.usage ?? {};
      const counted = [...(cachedTokens ? ['read'] : []), ...(cacheWriteTokens ? ['written'] : [])];
      return counted.length === 0 ? NONE : counted.join(', ');
    },
  },
];

function askerOf(server: FakeServer, url: string, { modelId, model }: Package): Ask {
  const client = aiSdk((id) => model(url, id));
  return async (answer, request) => {
    server.script(answer);
    const deltas: ModelDelta[] = [];
    const whole: ModelRequest = {
      model: modelId,
      instructions: ['You are a clerk.'],
      conversation: [{ author: 'user', content: [{ type: 'message', role: 'user', content: 'How far is the Moon?' }] }],
      tools: [],
      settings: {},
      ...request,
    };
    const context = { signal: AbortSignal.timeout(10_000), onDelta: (delta: ModelDelta) => void deltas.push(delta) };
    const response = await client.call(whole, context).catch(() => undefined);
    const body: Body | undefined = server.requests.at(-1)?.body;
    return { sent: body === undefined ? undefined : JSON.stringify(body), response, deltas };
  };
}

/** Returns the table of what each package does with the models of its provider, as the suite finds it against the fakes. */
async function capabilityTable(server: FakeServer, url: string): Promise<string> {
  const packages = [...PACKAGES];
  const rows: string[][] = [];
  for (const { title, word } of CAPABILITIES) {
    const words: string[] = [];
    for (const one of packages) words.push(await word(askerOf(server, url, one), one));
    rows.push([title, ...words]);
  }
  const head = ['', ...packages.map(({ name, spec }) => `${name} ${spec}`)];
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** The page with the table. */
export const PAGE = fileURLToPath(new URL('../../docs/providers.md', import.meta.url));

const MARK = '<!-- capabilities: npm run capabilities -->';

/** Returns the current page, and the page with the table that the suite makes. */
export async function capabilityPage(): Promise<{ is: string; due: string }> {
  const server = new FakeServer();
  const url = await server.start();
  try {
    const is = await readFile(PAGE, 'utf8');
    const begins = is.indexOf(MARK) + MARK.length;
    if (begins < MARK.length) throw new Error(`${PAGE} has no "${MARK}"`);
    const ends = is.indexOf('\n\n', begins);
    return { is, due: `${is.slice(0, begins)}\n${await capabilityTable(server, url)}${is.slice(ends)}` };
  } finally {
    server.close();
  }
}
