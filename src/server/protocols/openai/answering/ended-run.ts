import type { StreamedResult } from '../../../../client/stream/stream-item.ts';

/** The part of a result that answers show: of the result of a handle as of the one that ends a stream. */
export interface EndedRun extends Pick<StreamedResult, 'runId' | 'agentName' | 'status' | 'stopReason' | 'usage' | 'endTime' | 'error'> {
  output: unknown;
  below?: StreamedResult['below'] | undefined;
  errorCode?: string | undefined;
  cancelReason?: string | undefined;
}
