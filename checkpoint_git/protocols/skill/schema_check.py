"""Whether a value is surely valid. Made from the schema beside it by .ci/write-schema-checks and never edited: a test
compares it with what the schema says today, and no linter or type checker reads it."""
# mypy: ignore-errors

_0 = frozenset(['1.0', '1.1'])
_1 = frozenset(['blocked', 'complete', 'failed', 'in_progress'])
_2 = frozenset(['blocked', 'complete', 'deferred', 'failed', 'in_progress', 'not_started', 'skipped'])
_3 = frozenset(['code_fix', 'external_dep', 'user_decision'])
_4 = frozenset(['child', 'deploy', 'incident', 'linked', 'source'])


def check(value):
    if type(value) is not dict:
        return False
    member1 = value.get('protocol_version')
    if type(member1) is not str or member1 not in _0:
        return False
    member1 = value.get('skill')
    if type(member1) is not str or not member1:
        return False
    member1 = value.get('project')
    if type(member1) is not str or not member1:
        return False
    member1 = value.get('project_dir')
    if type(member1) is not str or not member1:
        return False
    member1 = value.get('created_at')
    if type(member1) is not str or not member1:
        return False
    member1 = value.get('updated_at')
    if type(member1) is not str or not member1:
        return False
    member1 = value.get('phase')
    if type(member1) is not str or not member1:
        return False
    member1 = value.get('step')
    if type(member1) is not str or not member1:
        return False
    member1 = value.get('status')
    if type(member1) is not str or member1 not in _1:
        return False
    member1 = value.get('progress_summary')
    if type(member1) is not str or not member1:
        return False
    if '$schema' in value:
        member1 = value['$schema']
        if type(member1) is not str:
            return False
    if 'progress_table' in value:
        member1 = value['progress_table']
        if type(member1) is not list:
            return False
        for item2 in member1:
            if type(item2) is not dict:
                return False
            member3 = item2.get('id')
            if type(member3) is str:
                if not member3:
                    return False
            elif not (type(member3) is int or type(member3) is float):
                return False
            member3 = item2.get('label')
            if type(member3) is not str or not member3:
                return False
            member3 = item2.get('status')
            if type(member3) is not str or member3 not in _2:
                return False
    if 'context_primer' in value:
        member1 = value['context_primer']
        if type(member1) is not dict:
            return False
        if 'key_decisions' in member1:
            member2 = member1['key_decisions']
            if type(member2) is not list:
                return False
            for item3 in member2:
                if type(item3) is not str:
                    return False
        if 'generated_files' in member1:
            member2 = member1['generated_files']
            if type(member2) is not list:
                return False
            for item3 in member2:
                if type(item3) is not str:
                    return False
        if 'user_preferences' in member1:
            member2 = member1['user_preferences']
            if type(member2) is not list:
                return False
            for item3 in member2:
                if type(item3) is not str:
                    return False
    if 'blockers' in value:
        member1 = value['blockers']
        if type(member1) is not list:
            return False
        for item2 in member1:
            if type(item2) is not dict:
                return False
            member3 = item2.get('id')
            if type(member3) is str:
                if not member3:
                    return False
            elif not (type(member3) is int or type(member3) is float):
                return False
            member3 = item2.get('description')
            if type(member3) is not str or not member3:
                return False
            if 'needs' in item2:
                member3 = item2['needs']
                if type(member3) is not str or member3 not in _3:
                    return False
    if 'next_actions' in value:
        member1 = value['next_actions']
        if type(member1) is not list:
            return False
        for item2 in member1:
            if type(item2) is str:
                if not item2:
                    return False
            elif type(item2) is dict:
                member3 = item2.get('text')
                if type(member3) is not str or not member3:
                    return False
                if 'done_when' in item2:
                    member3 = item2['done_when']
                    if type(member3) is not str:
                        return False
            else:
                return False
    if 'recently_done' in value:
        member1 = value['recently_done']
        if type(member1) is not list:
            return False
    if 'pm_refs' in value:
        member1 = value['pm_refs']
        if type(member1) is not list:
            return False
        for item2 in member1:
            if type(item2) is not dict:
                return False
            member3 = item2.get('provider')
            if type(member3) is not str or not member3:
                return False
            member3 = item2.get('id')
            if type(member3) is str:
                if not member3:
                    return False
            elif not (type(member3) is int or type(member3) is float):
                return False
            if 'role' in item2:
                member3 = item2['role']
                if type(member3) is not str or member3 not in _4:
                    return False
    if 'depends_on' in value:
        member1 = value['depends_on']
        if type(member1) is list:
            for item2 in member1:
                if type(item2) is not str:
                    return False
        elif not (type(member1) is str):
            return False
    if 'cost' in value:
        member1 = value['cost']
        if type(member1) is not dict:
            return False
        if 'total_usd' in member1:
            member2 = member1['total_usd']
            if not (type(member2) is int or type(member2) is float) or not member2 >= 0:
                return False
        if 'budget_usd' in member1:
            member2 = member1['budget_usd']
            if not (type(member2) is int or type(member2) is float) or not member2 >= 0:
                return False
        if 'by_phase' in member1:
            member2 = member1['by_phase']
            if type(member2) is not dict:
                return False
            for key3, member3 in member2.items():
                if not (type(member3) is int or type(member3) is float) or not member3 >= 0:
                    return False
        if 'by_model' in member1:
            member2 = member1['by_model']
            if type(member2) is not dict:
                return False
            for key3, member3 in member2.items():
                if not (type(member3) is int or type(member3) is float) or not member3 >= 0:
                    return False
        if 'currency' in member1:
            member2 = member1['currency']
            if type(member2) is not str:
                return False
    if 'eval_scores' in value:
        member1 = value['eval_scores']
        if type(member1) is not list:
            return False
        for item2 in member1:
            if type(item2) is not dict:
                return False
            member3 = item2.get('rubric')
            if type(member3) is not str or not member3:
                return False
            member3 = item2.get('score')
            if not (type(member3) is int or type(member3) is float):
                return False
            if 'max' in item2:
                member3 = item2['max']
                if not (type(member3) is int or type(member3) is float):
                    return False
    if 'telemetry_handle' in value:
        member1 = value['telemetry_handle']
        if type(member1) is str:
            if not member1:
                return False
        elif type(member1) is dict:
            if 'enabled' in member1:
                member2 = member1['enabled']
                if type(member2) is not bool:
                    return False
            if 'id' in member1:
                member2 = member1['id']
                if type(member2) is not str:
                    return False
            if 'sink' in member1:
                member2 = member1['sink']
                if type(member2) is not str:
                    return False
            if 'since' in member1:
                member2 = member1['since']
                if type(member2) is not str:
                    return False
        else:
            return False
    if 'handoffs' in value:
        member1 = value['handoffs']
        if type(member1) is not list:
            return False
    if 'findings' in value:
        member1 = value['findings']
        if type(member1) is not list:
            return False
    if 'superseded' in value:
        member1 = value['superseded']
        if type(member1) is not list:
            return False
    if 'skill_state' in value:
        member1 = value['skill_state']
        if type(member1) is not dict:
            return False
    return True
