import { UsageError } from '../core/domain/errors.ts';
import { installedSdk } from '../temporal/installed-sdk.ts';

/** The package of Temporal's SDK in whose environment a test in memory runs its activities. Nothing else needs it. */
const PACKAGE = '@temporalio/testing';

/** Loads what tests in memory need. Throws a UsageError with the command that installs the package, if it is missing. */
export async function loadInMemory<Module>(load: () => Promise<Module>): Promise<Module> {
  try {
    return await load();
  } catch (error) {
    if (!isMissing(error)) throw error;
    const version = installedSdk()['@temporalio/common'];
    throw new UsageError(
      `testAgent and testProgram need "${PACKAGE}", which is not installed: npm install --save-dev ${PACKAGE}${version === undefined ? '' : `@${version}`}`,
      { cause: error },
    );
  }
}

/** True for the error of Node about that package. */
function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND' && error.message.includes(`'${PACKAGE}'`);
}
