export { type CrmClient, createClient } from './client.ts';
export {
  CrmError,
  type DetailsByCode,
  type DetailsOf,
  type ErrorCode,
  type TakenContact,
  type ValidationError,
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
  type ChangeOptions,
  type ClientOptions,
  type CreateOptions,
  type RequestOptions,
  type ResponseInfo,
  type Retry,
  responseInfo,
} from './request.ts';
export type * from './types.ts';
