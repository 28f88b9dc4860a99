import type { Versioning } from '../../../worker/index.ts';
import { UsageError } from '../../core/domain/errors.ts';

/** The values of `--versioning`, with the value of the worker's option for each. */
export const VERSIONING_CHOICES = {
  pinned: 'PINNED',
  'auto-upgrade': 'AUTO_UPGRADE',
  'upgrade-on-continue-as-new': 'UPGRADE_ON_CONTINUE_AS_NEW',
} as const satisfies Record<string, Versioning['behavior']>;

/** The flags that tie a worker to a build. */
export interface VersioningFlags {
  deployment?: string;
  buildId?: string;
  versioning?: keyof typeof VERSIONING_CHOICES;
}

/** Returns the versioning of a worker; undefined without the flags. Throws a UsageError if some of them are missing. */
export function chosenVersioning({ deployment, buildId, versioning }: VersioningFlags): Versioning | undefined {
  if (deployment === undefined && buildId === undefined && versioning === undefined) return undefined;
  if (deployment !== undefined && buildId !== undefined && versioning !== undefined)
    return { deploymentName: deployment, buildId, behavior: VERSIONING_CHOICES[versioning] };
  throw new UsageError('--deployment, --build-id and --versioning go together: give all three, or none for a worker without versions');
}
