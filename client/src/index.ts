export { type CrmClient, createClient } from './client.ts';
export {
  CrmError,
  type DetailsByCode,
  type DetailsOf,
  type ErrorCode,
  type Fault,
  type TakenContact,
} from './errors.ts';
export {
  type Changes,
  type ChangesOptions,
  type Filters,
  type Page,
  type SnapshotOptions,
  UnsettledListError,
  type Walk,
} from './lists.ts';
export {
  type AnswerInfo,
  answerInfo,
  type ChangeOptions,
  type ClientOptions,
  type CreateOptions,
  type RequestOptions,
  type Retry,
} from './request.ts';
export type * from './types.ts';
