/** A request that bears credentials in the header for them; without a text, none. */
export function bearing(credentials?: string, url = 'http://localhost/v1/runs'): Request {
  return new Request(url, credentials === undefined ? {} : { headers: { authorization: `Bearer ${credentials}` } });
}
