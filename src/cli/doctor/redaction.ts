import { homedir, userInfo } from 'node:os';

/** Names of variables whose values are secrets. */
const SECRET_NAME = /KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH|_DSN$/i;

/** Variables whose names look like those of secrets, and whose values say where one is. */
const PLACE_NAME = /_(?:FILE|PATH|DIR|URL|ID)$/i;

/** Names of accounts that are of no person, and words of sentences and commands. */
const COMMON_USERS = ['root', 'node', 'runner', 'ubuntu', 'debian', 'admin', 'user', 'app', 'worker', 'longhaul', 'temporal', 'redis'];

/** Values that are shorter are ordinary words: to remove them would spoil sentences, and they keep nothing safe. */
const SHORTEST_SECRET = 6;

/** A user and a password in an address. */
const CREDENTIALS = /(\b[a-z][a-z0-9+.-]*:\/\/)[^\s/"']+@/gi;

/** Texts that look like keys wherever they come from. */
const KEY_FORMS =
  /\b(?:(?:sk|pk|rk|xox[abp]|xapp|glpat)[-_]|(?:gsk|hf|npm|gh[opsu]|github_pat)_)[\w-]{12,}\b|\bAIza[\w-]{30,}|(?<=\bBearer )[^\s"']{8,}|\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]*/g;

/**
 * Returns a function that removes from texts what an issue must not have: values of variables that are secrets, credentials in addresses,
 * texts that look like keys, the folder and the name of the user.
 */
export function redaction(env: NodeJS.ProcessEnv, home = homedir(), user = userName()): (text: string) => string {
  const values = Object.entries(env)
    .filter(([name, value]) => SECRET_NAME.test(name) && !PLACE_NAME.test(name) && value !== undefined && value.length >= SHORTEST_SECRET)
    .flatMap(([name, value = '']) => [value, ...partsOf(value)].map((part) => [part, `[${name}]`] as const))
    .toSorted(([one], [other]) => other.length - one.length);
  const userPattern =
    user === undefined || user.length <= 2 || COMMON_USERS.includes(user)
      ? undefined
      : new RegExp(`(?<![\\w.-])${escaped(user)}(?![\\w.-])`, 'g');
  const homePattern = home.length > 1 ? new RegExp(`${escaped(home)}(?![\\w.-])`, 'g') : undefined;
  return (text) => {
    let shown = text.replace(CREDENTIALS, '$1');
    for (const [value, name] of values) shown = shown.replaceAll(value, name);
    shown = shown.replace(KEY_FORMS, '[key]');
    if (homePattern !== undefined) shown = shown.replace(homePattern, '~');
    return userPattern === undefined ? shown : shown.replace(userPattern, '[user]');
  };
}

/** Returns the secrets in a variable with several, such as `2026:<base64>,2025:<base64>`. */
function partsOf(value: string): string[] {
  return value
    .split(',')
    .flatMap((entry) => [entry.trim(), entry.trim().replace(/^[^:]*:/, '')])
    .filter((part) => part.length >= SHORTEST_SECRET);
}

function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
}

/** A container may have a user without a name. */
function userName(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
}
