import { defineRecord } from '../db/define/put.ts';
import { activeStages, pipelineStages } from '../db/schema/index.ts';
import { columnsOf, fieldsOf } from '../db/sql/field-columns.ts';
import { PipelineStage, PipelineStagePut } from './schema.ts';

const stageView = { ...activeStages, fields: fieldsOf(PipelineStage, pipelineStages) };

export const pipelineStageRecord = defineRecord(stageView, {
  columns: columnsOf(PipelineStagePut, pipelineStages),
});
