import { signal } from '@preact/signals';

// The place of the reader is in the fragment of the address, which no browser sends to a server: filters can be shared, and nothing is logged.

export interface Place {
  /** The parts of the path, decoded. */
  path: string[];
  query: Record<string, string>;
}

function placeOf(fragment: string): Place {
  const [path = '', query = ''] = fragment.replace(/^#\/?/, '').split('?');
  return {
    path: path
      .split('/')
      .filter((part) => part !== '')
      .map(decoded),
    query: Object.fromEntries(new URLSearchParams(query)),
  };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const place = signal(placeOf(location.hash));

addEventListener('hashchange', () => {
  place.value = placeOf(location.hash);
});

/** Returns the address of a place, for a link. */
export function hrefTo(path: readonly string[], query: Readonly<Record<string, string | undefined>> = {}): string {
  const pairs = Object.entries(query).flatMap(([key, value]) => (value === undefined || value === '' ? [] : [[key, value]]));
  const text = new URLSearchParams(pairs).toString();
  return `#/${path.map(encodeURIComponent).join('/')}${text === '' ? '' : `?${text}`}`;
}

export function goTo(path: readonly string[], query?: Readonly<Record<string, string | undefined>>): void {
  location.hash = hrefTo(path, query);
}

/** Changes the query of the place without a new entry in the history of the browser. */
export function setQuery(changes: Readonly<Record<string, string | undefined>>): void {
  const { path, query } = place.peek();
  history.replaceState(null, '', hrefTo(path, { ...query, ...changes }));
  place.value = placeOf(location.hash);
}

/** Names the place that the reader leaves: the button back leads to it, in the place of what the address has been. */
export function leaveFrom(path: readonly string[]): void {
  history.replaceState(null, '', hrefTo(path));
}

/** Goes to a place by its fragment, in the place of whatever the address has besides. */
export function arriveAt(fragment: string): void {
  history.replaceState(null, '', `${location.pathname}${fragment}`);
  place.value = placeOf(location.hash);
}
