import { defineList } from '../db/define/list.ts';
import { defineRecord } from '../db/define/put.ts';
import { activeStages, pipelineStages } from '../db/schema/index.ts';
import { columnsOf, fieldsOf } from '../db/sql/field-columns.ts';
import { PipelineStage, PipelineStageListQuery, PipelineStagePut } from './schema.ts';

const stageView = { ...activeStages, fields: fieldsOf(PipelineStage, pipelineStages) };

const record = defineRecord(stageView, {
  columns: columnsOf(PipelineStagePut, pipelineStages),
  fixed: ['key'],
});

/** The columns of the pipeline, from left to right. */
const list = defineList(stageView, {
  query: PipelineStageListQuery,
  order: [
    { field: 'position', direction: 'asc' },
    { field: 'id', direction: 'asc' },
  ],
  filters: {},
});

export const pipelineStageRecord = { ...record, list };
