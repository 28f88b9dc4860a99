/** The members that are defined. Each may be missing. */
type Defined<Members> = { [Name in keyof Members]?: Exclude<Members[Name], undefined> };

/**
 * Returns the members without those that are undefined, to spread them into an object: a member that is present and undefined would
 * overwrite another, and is not what an optional one is.
 */
export function defined<Members extends object>(members: Members): Defined<Members> {
  for (const name in members) {
    if (members[name] === undefined) return withoutUndefined(members);
  }
  return members;
}

function withoutUndefined<Members extends object>(members: Members): Defined<Members> {
  const rest: Defined<Members> = {};
  for (const name in members) {
    const member = members[name];
    if (member !== undefined) rest[name] = member as Exclude<Members[typeof name], undefined>;
  }
  return rest;
}
