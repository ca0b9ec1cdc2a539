"""Whether a value is surely valid. Made from the schema beside it by .ci/write-schema-checks and never edited: a test
compares it with what the schema says today, and no linter or type checker reads it."""
# mypy: ignore-errors

_0 = frozenset(['ARCHITECTURE', 'IMPLEMENTATION', 'REFLECTION', 'REQUIREMENTS', 'VERIFICATION'])
_1 = frozenset(['complete', 'failed', 'in_progress', 'pending'])


def check(value):
    if type(value) is not dict:
        return False
    member1 = value.get('workflow_id')
    if type(member1) is not str or not member1:
        return False
    member1 = value.get('started_at')
    if type(member1) is not str or not member1:
        return False
    member1 = value.get('last_updated')
    if type(member1) is not str or not member1:
        return False
    member1 = value.get('current_phase')
    if type(member1) is not str or member1 not in _0:
        return False
    member1 = value.get('phase_status')
    if type(member1) is not str or member1 not in _1:
        return False
    member1 = value.get('completed_phases')
    if type(member1) is not list:
        return False
    for item2 in member1:
        if type(item2) is not dict:
            return False
        member3 = item2.get('phase')
        if type(member3) is not str or member3 not in _0:
            return False
        member3 = item2.get('completed_at')
        if type(member3) is not str or not member3:
            return False
        if 'output' in item2:
            member3 = item2['output']
            if type(member3) is not str or not member3:
                return False
    member1 = value.get('user_checkpoints')
    if type(member1) is not list:
        return False
    for item2 in member1:
        if type(item2) is not dict:
            return False
        member3 = item2.get('phase')
        if type(member3) is not str or member3 not in _0:
            return False
        member3 = item2.get('approved_at')
        if type(member3) is not str or not member3:
            return False
    member1 = value.get('interruption_safe')
    if type(member1) is not bool:
        return False
    if 'saved' in value:
        member1 = value['saved']
        if type(member1) is not dict:
            return False
    return True
