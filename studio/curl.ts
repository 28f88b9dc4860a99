// A request as a terminal command. The page does not know its key: the command reads it from the environment.

/** How the key of an API is sent, and what else it wants. */
interface Api {
  key: string;
  /** Further headers. */
  headers?: readonly string[];
  query?: string;
}

const BEARER: Api = { key: 'authorization: Bearer $API_KEY' };

/** APIs that do not take the key as a bearer token, by the names of their providers. Clouds that host a model take their own. */
const OTHERS: readonly (readonly [RegExp, Api])[] = [
  [/^(?:ai-sdk\.)?anthropic\b/, { key: 'x-api-key: $API_KEY', headers: ['anthropic-version: 2023-06-01'] }],
  [/^(?:ai-sdk\.)?google\.generative-ai\b/, { key: 'x-goog-api-key: $API_KEY' }],
  [/^(?:ai-sdk\.)?azure\b/, { key: 'api-key: $API_KEY', query: '?api-version=$API_VERSION' }],
];

/** Returns a request in the form of its provider as a command. */
export function curlOf({ api, path, body }: { api: string; path: string; body: object }): string {
  const [, { key, headers = [], query = '' }] = OTHERS.find(([pattern]) => pattern.test(api)) ?? [undefined, BEARER];
  // The path has the name of the model, which whoever starts a run chooses. Packages of the AI SDK have it from the host on.
  const base = api.startsWith('ai-sdk.') ? '"$ORIGIN"' : '"$BASE_URL"';
  const where = `${base}${quoted(`/${path.replace(/^\//, '')}`)}${query === '' ? '' : `"${query}"`}`;
  const sent = [`"${key}"`, ...[...headers, 'content-type: application/json'].map((header) => `'${header}'`)];
  return `curl ${where} ${sent.map((header) => `-H ${header}`).join(' ')} --data-raw ${quoted(JSON.stringify(body))}`;
}

/** Returns a text for a shell, which does nothing with it. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
