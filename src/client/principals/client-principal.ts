import { UsageError } from '../../core/domain/errors/error.ts';
import { isSame, type Principal } from '../../core/domain/run/principal.ts';
import { principalProblem } from '../../core/wire-schemas/principal-problem.ts';

/** Returns the principal that a client acts for. Throws a UsageError for one without tenant and user, or of another form. */
export function checkPrincipal(value: unknown): Principal {
  const problem = principalProblem(value);
  if (problem !== undefined) throw new UsageError(`the client: ${problem}`);
  const principal = JSON.parse(JSON.stringify(value)) as Principal;
  if (principal.tenant !== undefined || principal.user !== undefined) return principal;
  throw new UsageError('the client: "principal" has no tenant and no user: give "tenant", "user" or both');
}

/** Returns the principal of a start by a client that acts for one: its own, with the claims of the start. Throws a UsageError for another one. */
export function principalOfStart(own: Principal | undefined, given: Principal | undefined): Principal | undefined {
  if (own === undefined || given === undefined) return own ?? given;
  const { tenant = own.tenant, user = own.user, claims = own.claims } = given;
  if (isSame(own, { tenant, user })) {
    return { ...own, ...(claims === undefined ? {} : { claims }) };
  }
  throw new UsageError(
    'the start has another "principal" than the client acts for: leave it out, or start the run with a client of its own',
  );
}
