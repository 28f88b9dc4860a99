/** The answer of an issuer, at most: key sets and discovery documents have some kilobytes. */
const MAX_BYTES = 1_000_000;

/** Fetches a small JSON document: a body that is larger than 1 MB fails. Redirects are not followed. */
export async function boundedFetch(url: string, init: { headers?: Headers; method?: 'GET'; signal: AbortSignal }): Promise<Response> {
  const response = await fetch(url, { ...init, redirect: 'manual' });
  return new Response(await boundedText(response), { status: response.status === 200 ? 200 : 502 });
}

async function boundedText({ body, status }: Response): Promise<string> {
  if (body === null) return '';
  if (status !== 200) {
    await body.cancel();
    return '';
  }
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > MAX_BYTES) throw new Error(`The answer of the issuer is larger than ${MAX_BYTES} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
