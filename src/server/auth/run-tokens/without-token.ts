/**
 * Returns a URL, whole or from its path on, without the parameter `token`: for logs. Everything else stays as it was written, also if the
 * URL cannot be parsed.
 */
export function withoutToken(url: string): string {
  const [, path = '', query = '', fragment = ''] = /^([^?#]*)(\?[^#]*)?(#.*)?$/s.exec(url) ?? [];
  return path + withoutParameter(query) + withoutParameter(fragment);
}

/** Removes the parameter from a text that begins with its mark, and the mark if nothing else is left. */
function withoutParameter(text: string): string {
  const parameters = text.slice(1).split('&');
  const kept = parameters.filter((parameter) => !isToken(parameter));
  if (kept.length === parameters.length) return text;
  return kept.length === 0 ? '' : text.charAt(0) + kept.join('&');
}

/** True for `token=…`, also with the name written in another way. */
function isToken(parameter: string): boolean {
  const [name = ''] = parameter.split('=');
  return decoded(name).trim().toLowerCase() === 'token';
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}
